import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { ICON, STYLES } from './assets.js';

interface PageParts {
  readonly title: string;
  /** Class of the body, which names the kind of page and sets its width. */
  readonly kind: string;
  readonly language?: string;
  readonly theme?: 'light' | 'dark' | undefined;
  /** URLs of styles that load before the common styles and, below, of scripts. */
  readonly styles?: readonly string[];
  readonly scripts?: readonly string[];
  /** Nonce with which the page's policy allows its scripts. */
  readonly nonce?: string;
  /** Additional content of the head. */
  readonly head?: ComponentChildren;
  /** Attributes of the body. */
  readonly attributes?: Readonly<Record<string, string>>;
  readonly children: ComponentChildren;
}

/** Renders a complete HTML page without inline scripts and styles. All text is escaped. */
export function renderPage(parts: PageParts): string {
  return `<!doctype html>\n${renderToString(<Page {...parts} />)}\n`;
}

function Page(parts: PageParts): VNode {
  const { title, kind, language = 'en', theme, styles = [], scripts = [], nonce, head, attributes, children } = parts;
  return (
    <html lang={language} data-theme={theme}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        {[...styles, STYLES.path].map((path) => (
          <link key={path} rel="stylesheet" href={path} />
        ))}
        <link rel="icon" href={ICON.path} />
        {head}
        {scripts.map((path) => (
          <script key={path} src={path} nonce={nonce} defer />
        ))}
      </head>
      <body class={kind} {...attributes}>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        {children}
      </body>
    </html>
  );
}
