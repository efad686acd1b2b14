// Types of ui.js for `tsc`, which scripts/page-types runs. Browsers do not load this file.
export const html: (strings: TemplateStringsArray, ...values: unknown[]) => unknown;
export function render(view: unknown, into: Element): void;
export class Component<P = any> {
  constructor(props?: P);
  [name: string]: any;
  props: any;
  state: any;
  setState(change: Record<string, any>): void;
  forceUpdate(): void;
}
