import type { User } from '@commonplace/proto/identity/v1/user.js';
import type { VNode } from 'preact';
import { sitePage } from '../../docs/site.js';
import { type Field, Form, formPage, Summary } from './form.js';
import { HOME } from './next.js';
import type { Trouble } from './trouble.js';

const EMAIL: Field = { name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username' };
const PASSWORD = { name: 'password', label: 'Password', type: 'password' } as const;
const OLD_PASSWORD: Field = { ...PASSWORD, autocomplete: 'current-password' };
const NEW_PASSWORD: Field = {
  ...PASSWORD,
  autocomplete: 'new-password',
  minLength: 8,
  hint: '8 characters or more. A few words in a row are easy to keep in mind and hard to guess.',
};
const NAME: Field = {
  name: 'name',
  label: 'Name',
  type: 'text',
  autocomplete: 'name',
  hint: 'As others will see it.',
};

/** What the pages call the fields. */
export const LABELS = Object.fromEntries([EMAIL, PASSWORD, NAME].map(({ name, label }) => [name, label]));

/** A form as it comes back: what was typed, and what is wrong with it. */
export interface Again {
  readonly values: Readonly<Record<string, unknown>>;
  readonly trouble: Trouble;
}

export function signInPage(next: string, again?: Again): string {
  return formPage({
    title: 'Sign in',
    action: '/auth/sign-in',
    submit: 'Sign in',
    fields: [EMAIL, OLD_PASSWORD],
    hidden: { next },
    outro: (
      <p class="other">
        No account yet? <a href="/auth/sign-up">Sign up</a>
      </p>
    ),
    ...again,
  });
}

/** `invitation` is the token of the link that somebody came by; empty where they came without one. */
export function signUpPage(invitation: string, again?: Again): string {
  const back = invitation === '' ? '' : `?next=${encodeURIComponent(invitationPath(invitation))}`;
  return formPage({
    title: 'Sign up',
    action: '/auth/sign-up',
    submit: 'Sign up',
    fields: [NAME, EMAIL, NEW_PASSWORD],
    hidden: { invitation_token: invitation },
    intro: <p>{invitation === '' ? NEEDS_LINK : INVITED}</p>,
    outro: (
      <p class="other">
        An account already? <a href={`/auth/sign-in${back}`}>Sign in</a>
      </p>
    ),
    ...again,
  });
}

const NEEDS_LINK = 'If an invitation is needed here, open the link that you were sent: it leads to this page.';
const INVITED = 'You are invited. Use the address that the invitation is for.';

/** The page of an invitation's link. */
export function invitationPath(invitation: string): string {
  return `/auth/sign-up?invite=${encodeURIComponent(invitation)}`;
}

/** For somebody who is signed in: whom they are here, and the way out. */
export function accountPage(user: User, csrf: string, notices: readonly string[] = []): string {
  return formPage({
    title: 'You are signed in',
    action: '/auth/sign-out',
    submit: 'Sign out',
    hidden: { csrf },
    intro: (
      <>
        {notices.map((notice) => (
          <p key={notice} class="notice" role="status">
            {notice}
          </p>
        ))}
        <p>
          <Whom {...user} />
        </p>
        <p>
          <a href={HOME}>Go to the API’s documentation</a>
        </p>
      </>
    ),
  });
}

/** An invitation, for somebody who is signed in. */
export function invitationPage(user: User, csrf: string, invitation: string): string {
  return formPage({
    title: 'You are invited',
    action: '/auth/accept-invitation',
    submit: 'Accept the invitation',
    hidden: { csrf, token: invitation },
    intro: (
      <p>
        <Whom {...user} /> The invitation will be this account’s.
      </p>
    ),
    outro: (
      <div class="other">
        <Form
          title=""
          action="/auth/sign-out"
          submit="Use another account"
          hidden={{ csrf, next: invitationPath(invitation) }}
        />
      </div>
    ),
  });
}

function Whom({ name, email }: User): VNode {
  return (
    <>
      You are signed in as <strong>{name}</strong> ({email}).
    </>
  );
}

/** Somebody has come back from another system and allowed it. */
export function connectedPage(connector: string, account: string | undefined): string {
  return sitePage({
    title: 'Connected',
    width: 'form',
    children: (
      <>
        <h1>Connected</h1>
        <p>
          <strong>{connector}</strong> is connected
          {account !== undefined && (
            <>
              {' '}
              as <strong>{account}</strong>
            </>
          )}
          . You can close this page.
        </p>
      </>
    ),
  });
}

/** Says what went wrong, where there is no form to come back to. */
export function troublePage(trouble: Trouble): string {
  return sitePage({
    title: 'Error',
    width: 'form',
    children: (
      <>
        <h1>Sorry</h1>
        <Summary {...trouble} />
        <p>
          <a href="/auth/sign-in">Go to your account</a>
        </p>
      </>
    ),
  });
}
