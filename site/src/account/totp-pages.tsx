import { ACCOUNT } from '../auth/action.js';
import { formPage } from '../auth/form.js';
import type { Again } from '../auth/pages.js';
import { sitePage } from '../page/site.js';

/** The data for setting up an authenticator app. */
interface TotpSetUp {
  readonly secret: string;
  readonly uri: string;
  /** A QR code as SVG, drawn by this server. */
  readonly picture: string;
}

/** Renders the secret of a new authenticator app and the form for its first code. */
export function totpPage(csrf: string, { secret, uri, picture }: TotpSetUp, again?: Again): string {
  return formPage({
    title: 'Add an authenticator app',
    action: '/auth/totp/confirm',
    submit: 'Confirm',
    hidden: { csrf, secret, uri },
    fields: [
      {
        name: 'code',
        label: 'Code that the app shows',
        type: 'text',
        autocomplete: 'one-time-code',
        inputMode: 'numeric',
      },
    ],
    intro: (
      <>
        <p>Scan this with your authenticator app, or type the secret into it.</p>
        <div class="qr" role="img" aria-label="QR code" dangerouslySetInnerHTML={{ __html: picture }} />
        <p>
          Secret: <code>{secret}</code>
        </p>
      </>
    ),
    ...again,
  });
}

/** Renders recovery codes, which are shown once. */
export function recoveryCodesPage(codes: readonly string[]): string {
  return sitePage({
    title: 'Recovery codes',
    width: 'form',
    children: (
      <>
        <h1>Recovery codes</h1>
        <p role="status">
          Keep these codes in a safe place. Each opens your account once when you do not have your authenticator app.
          They are not shown again, and take the place of all earlier ones.
        </p>
        <p>
          Are they lost? <q>New recovery codes</q> on your account page makes others.
        </p>
        <ul>
          {codes.map((code) => (
            <li key={code}>
              <code>{code}</code>
            </li>
          ))}
        </ul>
        <p>
          <a href={ACCOUNT}>Go back to your account</a>
        </p>
      </>
    ),
  });
}
