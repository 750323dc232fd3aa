import type { ComponentChildren } from 'preact';
import { renderPage } from '../pages/page.js';

export interface SitePage {
  readonly title: string;
  /** The page's own path, where it is one that the head links to. */
  readonly path?: string;
  /** As wide as a form or a text, or as wide as the window; a text if not said. */
  readonly width?: 'form' | 'text' | 'full';
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
  readonly attributes?: Readonly<Record<string, string>>;
  readonly children: ComponentChildren;
}

const SITE = 'Commonplace';

const LINKS = [
  { path: '/docs', label: 'API' },
  { path: '/docs/errors', label: 'Errors' },
  { path: '/docs/changelog', label: 'Changelog' },
  { path: '/auth/sign-in', label: 'Account' },
];

/** A page of this server: its head is the same on all of them. */
export function sitePage({ title, path, width = 'text', styles, scripts, attributes, children }: SitePage): string {
  // What fills the window brings a main part of its own.
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
          <a class="brand" href="/docs">
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
