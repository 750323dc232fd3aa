import type { ComponentChildren } from 'preact';
import { renderPage } from './page.js';

interface SitePage {
  readonly title: string;
  /** Path of the page itself, if the header links to it. */
  readonly path?: string;
  /** Width of a form, of a text (the default), or of the window. */
  readonly width?: 'form' | 'text' | 'full';
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
  readonly attributes?: Readonly<Record<string, string>>;
  readonly children: ComponentChildren;
}

const SITE = 'Commonplace';

const LINKS = [
  { path: '/docs', label: 'Docs' },
  { path: '/docs/guides', label: 'Guides' },
  { path: '/docs/api', label: 'API' },
  { path: '/docs/explorer', label: 'Explorer' },
  { path: '/docs/errors', label: 'Errors' },
  { path: '/docs/changelog', label: 'Changelog' },
  { path: '/auth/sign-in', label: 'Account' },
];

/** Renders a page of this server with the common header. */
export function sitePage({ title, path, width = 'text', styles, scripts, attributes, children }: SitePage): string {
  // A full-width page contains its own `main` element.
  const Main = width === 'full' ? 'div' : 'main';
  return renderPage({
    title: `${title} · ${SITE}`,
    kind: width,
    styles,
    scripts,
    attributes,
    children: (
      <>
        <header>
          <a class="brand" href="/">
            {SITE}
          </a>
          <nav aria-label="Pages">
            {LINKS.map((link) => (
              <a key={link.path} href={link.path} aria-current={link.path === path ? 'page' : undefined}>
                {link.label}
              </a>
            ))}
          </nav>
        </header>
        <Main id="main">{children}</Main>
      </>
    ),
  });
}
