import type { ComponentChildren } from 'preact';
import { renderPage } from '../../page/page.js';
import { PlainHead } from './head.js';

interface GateParts {
  /** Path to which the password is posted. */
  readonly path: string;
  /** Path of the page that was requested. */
  readonly next: string;
  readonly theme: string;
  readonly language: string;
  readonly fault?: string | undefined;
}

/** Renders the password form. It reveals nothing about the protected page. */
export function gatePage({ path, next, theme, language, fault }: GateParts): string {
  const title = 'This page needs a password';
  return plainPage({
    title: fault === undefined ? title : `Error: ${title}`,
    language,
    theme,
    children: (
      <>
        <h1>{title}</h1>
        <form method="post" action={path}>
          <input type="hidden" name="next" value={next} />
          <div class="field">
            <label for="password">Password</label>
            {fault !== undefined && (
              <p class="fault" id="password-fault" role="alert">
                {fault}
              </p>
            )}
            <input
              type="password"
              id="password"
              name="password"
              autocomplete="current-password"
              aria-describedby={fault === undefined ? undefined : 'password-fault'}
              aria-invalid={fault === undefined ? undefined : 'true'}
              required
              autofocus
            />
          </div>
          <button type="submit">Open</button>
        </form>
      </>
    ),
  });
}

/** Renders the page for an address where there is nothing, or nothing any more (`gone`). */
export function missingPage(gone: boolean): string {
  return plainPage({
    title: 'Not found',
    children: (
      <>
        <h1>{gone ? 'This page is no longer here' : 'There is no such page'}</h1>
        <p>
          {gone
            ? 'It was published for a time, or was taken back. Whoever gave you the link knows more.'
            : 'The link may be misspelt, or the page was never published.'}
        </p>
      </>
    ),
  });
}

/** Renders an error page for failures of the server and exceeded limits. */
export function failurePage(message: string): string {
  return plainPage({
    title: 'Error',
    children: (
      <>
        <h1>Sorry</h1>
        <p class="trouble" role="alert">
          {message}
        </p>
      </>
    ),
  });
}

interface PlainParts {
  readonly title: string;
  readonly language?: string;
  readonly theme?: string;
  readonly children: ComponentChildren;
}

function plainPage({ title, language = 'en', theme, children }: PlainParts): string {
  return renderPage({
    title,
    kind: 'form',
    language: language || 'en',
    theme: theme === 'light' || theme === 'dark' ? theme : undefined,
    head: <PlainHead />,
    children: <main id="main">{children}</main>,
  });
}
