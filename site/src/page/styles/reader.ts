/** Styles of published pages: the tree, the table of contents, and the layout. */
export const READER = `
.reader > header .brand { flex: 1 1 auto; }
.find { flex: 0 1 20rem; }
@media (max-width: 40rem) { .find { flex: 1 1 100%; } }
.find form { display: flex; gap: .5rem; }
.find input { padding: .4rem .7rem; min-width: 0; }
.find button { padding: .4rem .9rem; }
.to-pages { flex: none; }
.reader :is(.brand, .crumbs, .pages, .toc) { overflow-wrap: anywhere; }
.columns {
  display: grid; gap: 0 3rem; max-width: 90rem; margin: 0 auto; padding: 0 1rem;
  grid-template-columns: minmax(0, 1fr);
}
.columns > main { padding: 1rem 0 4rem; min-width: 0; max-width: 48rem; width: 100%; margin: 0 auto; }
.columns > main.broad { max-width: none; }
.pages { border-top: 1px solid var(--faint); padding: 1rem 0 3rem; font-size: .95rem; }
.pages h2, .toc h2 { font-size: .85rem; margin: .5rem 0; color: var(--soft); }
.pages ul, .toc ul { list-style: none; margin: 0; padding: 0; }
.pages ul ul { padding-left: 1rem; }
.pages a, .toc a { display: block; padding: .3rem .5rem; border-radius: var(--round); text-decoration: none; color: inherit; }
.pages a:hover, .toc a:hover { background: var(--panel); text-decoration: underline; }
.pages a[aria-current] { background: var(--panel); font-weight: 600; color: var(--accent); }
.toc { font-size: .95rem; margin: 1rem 0 1.5rem; padding: .5rem .75rem; background: var(--panel); border-radius: var(--round); }
.toc summary { font-weight: 600; cursor: pointer; }
.toc .deep { padding-left: 1.25rem; }
.crumbs { font-size: .9rem; margin: .75rem 0 -.75rem; }
.crumbs + :not(h1) { margin-top: 1.5rem; }
.crumbs ol { list-style: none; display: flex; flex-wrap: wrap; gap: 0 .5rem; margin: 0; padding: 0; }
.crumbs li + li::before { content: "/"; color: var(--soft); margin-right: .5rem; }
.about { color: var(--soft); font-size: .9rem; margin: -.5rem 0 1.5rem; }
.list { list-style: none; margin: 0; padding: 0; }
.list li { padding: .75rem 0; border-bottom: 1px solid var(--faint); }
.list a { font-weight: 600; }
.list p { margin: .125rem 0 0; color: var(--soft); font-size: .95rem; }
mark { background: var(--mark); color: var(--text); padding: 0 .1em; border-radius: 2px; }
.more { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; margin: 1rem 0; }
.scroll { overflow-x: auto; border: 1px solid var(--faint); border-radius: var(--round); }
.scroll table { margin: 0; border: 0; min-width: 100%; width: max-content; max-width: none; }
.scroll :is(th, td) { max-width: 28rem; vertical-align: top; border-width: 0 0 1px; overflow-wrap: anywhere; }
.scroll tr:last-child > * { border-bottom: 0; }
.scroll .lined { white-space: pre-line; }
.scroll .number { text-align: right; font-variant-numeric: tabular-nums; }
.artifact { width: 100%; height: 36rem; border: 1px solid var(--faint); border-radius: var(--round); background: #fff; }
.slide { margin: 0 0 1.5rem; padding: 1.5rem 2rem; border: 1px solid var(--faint); border-radius: var(--round); }
@media (min-width: 40rem) { .slide { min-height: 24rem; display: grid; align-content: center; } }
.source { padding: 1rem; overflow: auto; max-height: 40rem; background: var(--panel); border-radius: var(--round); }
.source pre { margin: 0; }
.no-copy main { user-select: none; -webkit-user-select: none; }
.picture img { display: block; max-width: 100%; height: auto; border-radius: var(--round); }
body > footer { color: var(--soft); font-size: .85rem; padding: 1rem; border-top: 1px solid var(--faint); text-align: center; }
@media (min-width: 64rem) {
  .columns.with-pages { grid-template-columns: 15rem minmax(0, 1fr); }
  .columns.with-pages > .pages {
    grid-column: 1; grid-row: 1; border: 0; padding: 1.5rem 0; align-self: start;
    position: sticky; top: 0; max-height: 100vh; overflow-y: auto;
  }
  .to-pages { display: none; }
}
@media print {
  .slide { break-after: page; border: 0; }
  .to-pages, .more { display: none; }
  .scroll, .source { overflow: visible; max-height: none; }
  .scroll table { width: 100%; }
  .source pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
`;

/** Styles of a text within a published page. */
export const PROSE = `
/* Each paragraph is written from the side on which its first letter begins. */
.prose :is(p, li, dt, dd, summary), :is(h1, h2, h3, h4, h5, h6, th, td), .lead { unicode-bidi: plaintext; }
.prose :is(pre, code, [data-math]) { direction: ltr; unicode-bidi: isolate; }
.prose > :first-child { margin-top: 0; }
.prose :is(h1, h2, h3, h4, h5, h6) { scroll-margin-top: 1rem; }
.prose img, .prose video { max-width: 100%; height: auto; border-radius: var(--round); }
.prose audio { max-width: 100%; }
.prose pre { padding: 1rem; white-space: pre-wrap; background: var(--panel); border-radius: var(--round); line-height: 1.45; }
.prose :not(pre) > code { padding: .1em .35em; background: var(--panel); border-radius: 4px; }
.prose blockquote { margin: 1rem 0; padding: 0; padding-inline-start: 1rem; border-inline-start: 4px solid var(--faint); color: var(--soft); }
.prose aside[data-callout] { margin: 1rem 0; padding: .5rem 1rem; background: var(--panel); border-inline-start: 4px solid var(--note); border-radius: var(--round); }
.prose aside[data-callout="tip"] { border-color: var(--tip); }
.prose aside[data-callout="warning"] { border-color: var(--warning); }
.prose aside[data-callout="caution"] { border-color: var(--caution); }
.prose aside[data-callout="important"] { border-color: var(--important); }
.prose .kind { margin: 0; font-weight: 600; }
table { border-collapse: collapse; margin: 1rem 0; }
:is(th, td) { padding: .45rem .75rem; border: 1px solid var(--faint); text-align: start; }
th { background: var(--panel); font-weight: 600; }
:is(th, td)[align="right"] { text-align: right; }
:is(th, td)[align="center"] { text-align: center; }
.prose details { margin: 1rem 0; }
.prose summary { cursor: pointer; font-weight: 600; }
.prose hr { border: 0; border-top: 1px solid var(--faint); margin: 2rem 0; }
.prose li:has(> input[type="checkbox"]) { list-style: none; margin-inline-start: -1.4rem; }
.prose [data-math="block"] { font-family: var(--mono); overflow-x: auto; padding: .5rem 0; }
.prose [data-type="columns"] { display: grid; gap: 1.5rem; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); }
.prose [data-type="footnotes"] { border-top: 1px solid var(--faint); font-size: .9rem; margin-top: 2rem; }
`;
