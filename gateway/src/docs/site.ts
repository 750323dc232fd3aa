import { escapeHtml, page } from './html.js';

export interface SitePage {
  readonly title: string;
  /** Markup of the main part, escaped by its writer. */
  readonly body: string;
  /** The page's own path, where it is one that the head links to. */
  readonly path?: string;
  /** As wide as a form or a text, or as wide as the window; a text if not said. */
  readonly width?: 'form' | 'text' | 'full';
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
  readonly attributes?: Readonly<Record<string, string>>;
}

const SITE = 'Commonplace';

const LINKS = [
  { path: '/docs', label: 'API' },
  { path: '/docs/errors', label: 'Errors' },
  { path: '/docs/changelog', label: 'Changelog' },
  { path: '/auth/sign-in', label: 'Account' },
];

/** A page of this server: its head is the same on all of them. */
export function sitePage({
  title,
  body,
  path,
  width = 'text',
  styles = [],
  scripts = [],
  attributes,
}: SitePage): string {
  const links = LINKS.map((link) => {
    const current = link.path === path ? ' aria-current="page"' : '';
    return `<a href="${link.path}"${current}>${escapeHtml(link.label)}</a>`;
  });
  // What fills the window brings a main part of its own.
  const tag = width === 'full' ? 'div' : 'main';
  return page({
    title: `${title} · ${SITE}`,
    styles: [...styles, '/docs/pages.css'],
    scripts,
    attributes: { ...attributes, class: width },
    icon: '/docs/icon.svg',
    body: `<a class="skip" href="#main">Skip to the content</a>
<header><a class="brand" href="/docs">${SITE}</a> <nav aria-label="Pages">${links.join(' ')}</nav></header>
<${tag} id="main">
${body}
</${tag}>`,
  });
}
