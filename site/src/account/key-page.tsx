import { ACCOUNT } from '../auth/action.js';
import { sitePage } from '../page/site.js';

/** Renders a new API key, which is shown once. */
export function keyPage(name: string, key: string): string {
  return sitePage({
    title: 'API key created',
    width: 'form',
    children: (
      <>
        <h1>API key created</h1>
        <p role="status">
          Copy the key <strong>{name}</strong> now. It is not shown again.
        </p>
        <pre>
          <code>{key}</code>
        </pre>
        <p>
          <a href={ACCOUNT}>Go back to your account</a>
        </p>
      </>
    ),
  });
}
