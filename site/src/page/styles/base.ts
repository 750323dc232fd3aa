/** Styles that all pages share: background, links, focus, headings, the page header. */
export const BASE = `
.wide { overflow-x: auto; }
.wide :is(th, td) { padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
.wide form { margin: 0; }
.qr { width: 12rem; }
.qr svg { display: block; width: 100%; height: auto; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 1rem; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  overflow-wrap: break-word;
}
a { color: var(--accent); text-underline-offset: .15em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; }
.skip:focus { left: 1rem; top: .5rem; background: var(--page); padding: .5rem; z-index: 1; }
body > header {
  display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center;
  padding: .75rem 1rem; border-bottom: 1px solid var(--faint);
}
.brand { font-weight: 700; color: inherit; text-decoration: none; }
body > header nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
body > header nav a { text-decoration: none; }
body > header nav :is(a:hover, a[aria-current]) { text-decoration: underline; text-underline-offset: .3em; }
:is(.text, .form) main { margin: 0 auto; padding: 1rem 1rem 4rem; }
.text main { max-width: 50rem; }
.form main { max-width: 28rem; }
.wide.form main { max-width: 42rem; }
.form pre { white-space: pre-wrap; overflow-wrap: anywhere; }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; margin: 2rem 0 .5rem; }
h1 { font-size: 1.9rem; margin: 1.5rem 0 1rem; letter-spacing: -.01em; }
h2 { font-size: 1.4rem; }
h3 { font-size: 1.15rem; }
h4, h5, h6 { font-size: 1rem; }
code, pre, kbd, samp { font-family: var(--mono); font-size: .9em; }
.soft { color: var(--soft); }
button, .button {
  display: inline-block; padding: .6rem 1.25rem; font: inherit; font-weight: 600; cursor: pointer;
  text-decoration: none; color: var(--on-accent); background: var(--accent);
  border: 1px solid var(--accent); border-radius: var(--round);
}
:is(button, .button).quiet { color: var(--accent); background: none; }
.notice, .trouble {
  padding: .75rem 1rem; margin: 1rem 0; background: var(--panel);
  border-left: 5px solid var(--accent); border-radius: var(--round);
}
.trouble { border-color: var(--bad); background: var(--bad-page); }
.trouble h2 { margin: 0; font-size: 1.1rem; }
.trouble ul { margin: .25rem 0 0; padding-left: 1.25rem; }
.trouble a { color: var(--bad); font-weight: 600; }
.unseen {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap;
}
@media (max-width: 40rem) { .form form > button { width: 100%; } }
@media print { .skip, body > header form, .toc, .pages { display: none !important; } }
`;

/** Styles of the pages of approvals. */
export const APPROVALS = `
.diff { margin: 0; padding: .75rem 1rem; background: var(--panel); border-radius: var(--round); }
.diff :is(ins, del) { display: block; text-decoration: none; }
.diff ins { color: var(--good); }
.diff del { color: var(--bad); }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
.facts > :is(dt, dd) { margin: 0; }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; }
`;

/** Styles of the documentation pages. */
export const DOCS = `
.text:has(.docs) main { max-width: 60rem; }
.docs pre {
  margin: .75rem 0; padding: .75rem 1rem; max-height: 28rem; overflow: auto;
  background: var(--panel); border-radius: var(--round);
}
.docs :not(pre) > code { padding: .1em .3em; background: var(--panel); border-radius: 3px; overflow-wrap: anywhere; }
.docs h2 { padding-top: 1rem; border-top: 1px solid var(--faint); scroll-margin-top: 1rem; }
.docs table { border-collapse: collapse; }
.docs :is(th, td) { padding: .25rem .5rem; border: 1px solid var(--faint); }
.docs td { min-width: 6rem; }
.docs td:last-child { min-width: 12rem; }
@media (min-width: 50rem) { .docs td:first-child > code { overflow-wrap: break-word; } }
.docs summary { cursor: pointer; padding: .25rem 0; color: var(--accent); }
.text dt { font-weight: 600; margin-top: 1rem; scroll-margin-top: 1rem; }
.text dd { margin: 0; }
.text dt:target { background: var(--mark); }
/* The API's explorer, whose own style leaves much room and is made for a wide window. */
.full .swagger-ui .info { margin: 2rem 0 1rem; }
.full .swagger-ui .scheme-container { padding: 1rem 0; margin-bottom: 1rem; }
.full .swagger-ui { line-height: normal; }
@media (max-width: 40rem) {
  .full .swagger-ui .opblock-tag small { display: none; }
  .full .swagger-ui .opblock-tag > a { flex: 1; }
  .full .swagger-ui .opblock .opblock-summary-path { max-width: none; }
  .full .swagger-ui .filter .operation-filter-input { max-width: none; }
  .full .swagger-ui .response-col_links { display: none; }
}
`;
