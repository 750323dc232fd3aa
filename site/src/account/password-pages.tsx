import { formPage } from '../auth/form.js';
import { type Again, EMAIL, newPassword } from '../auth/pages.js';
import { sitePage } from '../page/site.js';

/** Renders the page that asks for the address of an account with a forgotten password. */
export function forgotPage(again?: Again): string {
  return formPage({
    title: 'Forgot your password?',
    action: '/auth/forgot-password',
    submit: 'Send a link',
    fields: [EMAIL],
    intro: <p>We send a link for a new password to the address of your account.</p>,
    outro: (
      <p class="other">
        <a href="/auth/sign-in">Sign in</a>
      </p>
    ),
    ...again,
  });
}

/** Renders the confirmation. The text is the same whether or not there is an account, so that it reveals nothing. */
export function resetSentPage(): string {
  return sitePage({
    title: 'Check your e-mail',
    width: 'form',
    children: (
      <>
        <h1>Check your e-mail</h1>
        <p>If there is an account with this address, a link for a new password is on its way to it.</p>
        <p>No message? This server may not send e-mail: ask its operator, who can reset a password as well.</p>
      </>
    ),
  });
}

/** Renders the page to which the link in the e-mail leads. */
export function resetPage(token: string, minLength: number, again?: Again): string {
  return formPage({
    title: 'Choose a new password',
    action: '/auth/reset-password',
    submit: 'Set the password',
    fields: [{ ...newPassword(minLength), name: 'new_password', label: 'New password' }],
    hidden: { token },
    intro: <p>All sessions of the account will be ended.</p>,
    ...again,
  });
}

export function passwordSetPage(): string {
  return sitePage({
    title: 'Password set',
    width: 'form',
    children: (
      <>
        <h1>Your password is set</h1>
        <p role="status">All sessions of your account were ended.</p>
        <p>
          <a href="/auth/sign-in">Sign in</a>
        </p>
      </>
    ),
  });
}
