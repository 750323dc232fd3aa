import { formPage } from './form.js';
import { withNext } from './next.js';
import type { Again } from './pages.js';

/** Renders the form that asks for the second factor after a correct password. */
export function secondFactorPage(challenge: string, next: string, again?: Again): string {
  return formPage({
    title: 'Enter your code',
    action: '/auth/second-factor',
    submit: 'Sign in',
    fields: [
      {
        name: 'code',
        label: 'Code',
        type: 'text',
        autocomplete: 'one-time-code',
        hint: 'Six digits from your authenticator app, or one of your recovery codes.',
      },
    ],
    hidden: { challenge, next },
    outro: (
      <p class="other">
        <a href={withNext('/auth/sign-in', next)}>Begin again</a>
      </p>
    ),
    ...again,
  });
}
