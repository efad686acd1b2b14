// Scales, axes and wrapped names of the charts. Charts are SVG, so they print, scale and are saved as they are seen.
import { Component, html } from "./ui.js";

/** @param {number} low @param {number} high @param {number} from @param {number} to @returns {(value: number) => number} */
export function scale(low, high, from, to) {
  return (value) => (high === low ? (from + to) / 2 : from + ((value - low) / (high - low)) * (to - from));
}

/** Round numbers within an interval. @param {number} low @param {number} high @param {number} most @returns {number[]} */
export function ticks(low, high, most = 5) {
  if (!(high > low)) return [low];
  const raw = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= raw) ?? raw;
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) found.push(Number(tick.toPrecision(10)));
  return found;
}

/** A name in lines of at most so many characters. @param {string} text @param {number} most @returns {string[]} */
export function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(/(?<=[\s\-_/.])/)) {
    for (let rest = [...word]; rest.length; rest = rest.slice(most)) {
      const part = rest.slice(0, most).join("");
      if ([...lines[lines.length - 1]].length + [...part].length > most) lines.push("");
      lines[lines.length - 1] += part;
    }
  }
  return lines.map((line) => line.trim()).filter((line, i) => line || i === 0);
}

/** A name in an SVG, centered on its height. @param {{x: number, y: number, lines: string[], anchor?: string, kind?: string}} props */
export function Label({ x, y, lines, anchor = "start", kind = "" }) {
  const top = y - ((lines.length - 1) * 14) / 2 + 4;
  return html`<text x=${x} y=${top} text-anchor=${anchor} class=${kind}>${lines.map((line, i) => html`<tspan key=${i} x=${x} dy=${i ? 14 : 0}>${line}</tspan>`)}</text>`;
}

/** Gives its width in pixels to the function that is its child. @extends Component<{children: (width: number) => any}> */
export class Sized extends Component {
  componentDidMount() {
    // A change of size within the callback would be reported as an error.
    this.watch = new ResizeObserver(() => requestAnimationFrame(() => this.fit()));
    this.watch.observe(this.node);
    this.fit();
  }

  componentWillUnmount() {
    this.watch?.disconnect();
  }

  fit() {
    const width = Math.floor(this.node?.clientWidth ?? 0);
    if (width && width !== this.state.width) this.setState({ width });
  }

  render() {
    const { width } = this.state;
    return html`<div class="sized" ref=${(/** @type {any} */ node) => (this.node = node)}>${width ? this.props.children(width) : null}</div>`;
  }
}

/** Whether black or white text is read on a colour of the style sheet that is laid over the card. Of the two, one always has a contrast of 4.5.
 * @param {string} name Of a custom property, such as `--wins`. @param {number} opacity @returns {"on-light" | "on-dark"} */
export function textOn(name, opacity) {
  const style = getComputedStyle(document.documentElement);
  const [over, under] = [name, "--card"].map((one) => channels(style.getPropertyValue(one).trim()));
  const light = over.map((value, i) => value * opacity + under[i] * (1 - opacity)).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2] > 0.179 ? "on-light" : "on-dark"; // relative luminance of WCAG 2
}

/** Red, green and blue from 0 to 1. @param {string} color #rgb or #rrggbb. @returns {number[]} */
function channels(color) {
  const digits = color.length === 4 ? [...color.slice(1)].map((digit) => digit + digit) : [1, 3, 5].map((i) => color.slice(i, i + 2));
  return digits.map((pair) => parseInt(pair, 16) / 255);
}

/** A curve of a few numbers, without axes. @param {{values: number[], label: string}} props */
export function Sparkline({ values, label }) {
  if (values.length < 2) return null;
  const x = scale(0, values.length - 1, 1, 119);
  const y = scale(Math.min(...values), Math.max(...values), 27, 3);
  return html`<svg class="spark" viewBox="0 0 120 30" role="img" aria-label=${label}><polyline points=${values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ")} /></svg>`;
}
