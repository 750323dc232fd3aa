/** Colours of the pages by theme. Each pair of text and background has a contrast of at least 4.5 : 1. */
const LIGHT = `
  --page: #fff; --text: #1b1f24; --soft: #59636e; --line: #818b95; --faint: #d9dee4; --panel: #f5f7f9;
  --accent: #0b57d0; --on-accent: #fff; --bad: #b3261e; --bad-page: #fdf0ef; --good: #1a6b3c; --mark: #fff3bf;
  --note: #0b57d0; --tip: #1a6b3c; --warning: #8a5300; --caution: #b3261e; --important: #6f42c1;
`;
const DARK = `
  --page: #15181d; --text: #e7eaee; --soft: #a6b0bb; --line: #7d8792; --faint: #343a42; --panel: #1e2228;
  --accent: #8ab4ff; --on-accent: #0a1a33; --bad: #ff9d94; --bad-page: #331b1a; --good: #7fd6a2; --mark: #5c4b00;
  --note: #8ab4ff; --tip: #7fd6a2; --warning: #f0b35a; --caution: #ff9d94; --important: #c7a6ff;
`;

/** Colours follow the system's light or dark mode, unless the page sets a theme. Prints are light. */
export const TOKENS = `:root {
  color-scheme: light dark;${LIGHT}
  --round: 6px; --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}
@media screen and (prefers-color-scheme: dark) { :root {${DARK}} }
:root[data-theme="light"] { color-scheme: light;${LIGHT}}
@media screen { :root[data-theme="dark"] { color-scheme: dark;${DARK}} }
`;
