/** The style of all pages: follows the system's light or dark, and fits a phone. */
export const PAGES_CSS = `:root {
  color-scheme: light dark;
  --page: #fff; --text: #1b1f24; --soft: #59636e; --line: #818b95; --faint: #d5dae0; --panel: #f5f7f9;
  --accent: #0b57d0; --on-accent: #fff; --bad: #b3261e; --bad-page: #fdf0ef; --mark: #fff3bf;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15181d; --text: #e7eaee; --soft: #a6b0bb; --line: #7d8792; --faint: #343a42; --panel: #1e2228;
    --accent: #8ab4ff; --on-accent: #0a1a33; --bad: #ff9d94; --bad-page: #331b1a; --mark: #5c4b00;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; background: var(--page); padding: .5rem; }
body > header {
  display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline;
  padding: .75rem 1rem; border-bottom: 1px solid var(--faint);
}
.brand { font-weight: 700; color: inherit; text-decoration: none; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
nav a { text-decoration: none; }
nav a:hover, nav a[aria-current] { text-decoration: underline; text-underline-offset: .3em; }
:is(.text, .form) main { margin: 0 auto; padding: 1rem 1rem 4rem; overflow-wrap: break-word; }
.text main { max-width: 50rem; }
.form main { max-width: 28rem; }
:is(.text, .form) :is(h1, h2) { line-height: 1.25; }
:is(.text, .form) h1 { font-size: 1.75rem; margin: 1.5rem 0 1rem; }
:is(.text, .form) h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; }
.text :is(code, pre) { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .9em; }
.text pre { white-space: pre-wrap; }
.text dt { font-weight: 600; margin-top: 1rem; scroll-margin-top: 1rem; }
.text dd { margin: 0; }
.text dt:target { background: var(--mark); }

.field { margin: 1.25rem 0; }
.field label { display: block; font-weight: 600; }
.field label + input { margin-top: .25rem; }
.hint, .fault { margin: .125rem 0 .375rem; font-size: .9rem; }
.hint, .other { color: var(--soft); }
.fault { color: var(--bad); font-weight: 600; }
.field input {
  width: 100%; padding: .6rem .75rem; font: inherit; color: inherit;
  background: var(--page); border: 1px solid var(--line); border-radius: 6px;
}
.field input[aria-invalid] { border: 2px solid var(--bad); }
.form button {
  padding: .65rem 1.25rem; font: inherit; font-weight: 600; cursor: pointer;
  color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); border-radius: 6px;
}
.other { margin-top: 1.5rem; }
.other button { color: var(--accent); background: none; }
.trouble, .notice { padding: .75rem 1rem; margin: 1rem 0; border-left: 5px solid var(--accent); background: var(--panel); }
.trouble { border-color: var(--bad); background: var(--bad-page); }
.form .trouble h2 { margin: 0; font-size: 1.1rem; }
.trouble ul { margin: .25rem 0 0; padding-left: 1.25rem; }
.trouble a { color: var(--bad); font-weight: 600; }

/* The API's explorer, whose own style leaves much room and is made for a wide window. */
.full .swagger-ui .info { margin: 2rem 0 1rem; }
.full .swagger-ui .scheme-container { padding: 1rem 0; margin-bottom: 1rem; }
@media (max-width: 40rem) {
  .form button { width: 100%; }
  .full .swagger-ui .opblock-tag small { display: none; }
  .full .swagger-ui .opblock-tag > a { flex: 1; }
  .full .swagger-ui .opblock .opblock-summary-path { max-width: none; }
  .full .swagger-ui .filter .operation-filter-input { max-width: none; }
  .full .swagger-ui .response-col_links { display: none; }
}
`;

/** A speech mark in a square. */
export const ICON_SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b57d0"/><path d="M21.5 11.8a6.6 6.6 0 1 0 0 8.4" fill="none" stroke="#fff" stroke-width="3.6" stroke-linecap="round"/></svg>
`;
