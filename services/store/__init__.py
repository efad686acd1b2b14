"""The store: protocol and key layout, Redis behind them."""
