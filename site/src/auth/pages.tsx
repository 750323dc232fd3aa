import type { User } from '@commonplace/proto/identity/v1/user.js';
import type { InvitationDescription } from '@commonplace/proto/tenancy/v1/directory_service.js';
import type { VNode } from 'preact';
import { PASSKEY_SCRIPT } from '../page/assets.js';
import { sitePage } from '../page/site.js';
import { type Field, Form, formPage, Summary } from './form.js';
import type { FormErrors } from './form-errors.js';
import { HOME, withNext } from './next.js';
import { PasskeySignIn } from './passkey-forms.js';

export const EMAIL: Field = { name: 'email', label: 'E-mail address', type: 'email', autocomplete: 'username' };
const PASSWORD = { name: 'password', label: 'Password', type: 'password' } as const;
export const OLD_PASSWORD: Field = { ...PASSWORD, autocomplete: 'current-password' };
/** Returns the field for a new password, which has at least `minLength` characters on this server. */
export const newPassword = (minLength: number): Field => ({
  ...PASSWORD,
  autocomplete: 'new-password',
  minLength,
  hint: `${minLength} characters or more. A few words in a row are easy to keep in mind and hard to guess.`,
});
const NAME: Field = {
  name: 'name',
  label: 'Name',
  type: 'text',
  autocomplete: 'name',
  hint: 'As others will see it.',
};

/** Labels of the fields on the pages, by field name. */
export const LABELS = {
  ...Object.fromEntries([EMAIL, PASSWORD, NAME].map(({ name, label }) => [name, label])),
  current_password: 'Current password',
  new_password: 'New password',
  input: 'Input',
  edited_input: 'Input',
};

/** The state of a form that is shown again: entered values and errors. */
export interface Again {
  readonly values: Readonly<Record<string, unknown>>;
  readonly errors: FormErrors;
}

/** The ways to sign in besides a password, and the path to continue with. */
export interface SignInWays {
  readonly next: string;
  /** `next` if it is a path of this server, otherwise the home page. */
  readonly safeNext: string;
  readonly oidc: boolean;
  /** Whether browsers can use passkeys with this server's host name. */
  readonly passkeys: boolean;
}

export function signInPage({ next, safeNext, oidc, passkeys }: SignInWays, again?: Again): string {
  return formPage({
    scripts: passkeys ? [PASSKEY_SCRIPT.path] : [],
    title: 'Sign in',
    action: '/auth/sign-in',
    submit: 'Sign in',
    fields: [EMAIL, OLD_PASSWORD],
    hidden: { next },
    intro: oidc && (
      <p>
        <a href={withNext('/auth/oidc/start', next)}>Sign in with your organization</a>
      </p>
    ),
    outro: (
      <>
        {passkeys && <PasskeySignIn next={safeNext} />}
        <p class="other">
          No account yet? <a href={isInvitation(safeNext) ? safeNext : withNext('/auth/sign-up', next)}>Sign up</a> ·{' '}
          <a href="/auth/forgot-password">Forgot your password?</a>
        </p>
      </>
    ),
    ...again,
  });
}

interface SignUpView extends Partial<Again> {
  /** Path to continue with. */
  readonly next: string;
  /** Minimum number of characters of a new password. */
  readonly minLength: number;
  readonly about?: InvitationDescription | undefined;
}

/** Renders the sign-up page. `invitation` is the token of the invitation link; empty without one. */
export function signUpPage(invitation: string, { next, minLength, about, ...again }: SignUpView): string {
  const back = invitation === '' ? next : invitationPath(invitation);
  return formPage({
    title: 'Sign up',
    action: '/auth/sign-up',
    submit: 'Sign up',
    fields: [NAME, EMAIL, newPassword(minLength)],
    hidden: { invitation_token: invitation, next },
    intro: (
      <>
        {about && <Invitation {...about} />}
        <p>{invitation === '' ? NEEDS_LINK : INVITED}</p>
      </>
    ),
    outro: (
      <p class="other">
        An account already? <a href={withNext('/auth/sign-in', back)}>Sign in</a>
      </p>
    ),
    ...again,
  });
}

const NEEDS_LINK = 'If an invitation is needed here, open the link that you were sent: it leads to this page.';
const INVITED = 'You are invited. Use the address that the invitation is for.';

/** Returns whether a path is that of an invitation's page. */
const isInvitation = (path: string): boolean => path.startsWith('/auth/sign-up?invite=');

/** Returns the path of an invitation's page. */
function invitationPath(invitation: string): string {
  return `/auth/sign-up?invite=${encodeURIComponent(invitation)}`;
}

/** Renders the page for a person who is already signed in: who they are, and how to sign out. */
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
          <a href="/auth/account">Your account: password, sessions, API keys</a>
        </p>
        <p>
          <a href={HOME}>Go to the API’s documentation</a>
        </p>
      </>
    ),
  });
}

/** Renders an invitation for a signed-in person. */
export function invitationPage(
  user: User,
  csrf: string,
  invitation: string,
  about: InvitationDescription | undefined,
): string {
  return formPage({
    title: 'You are invited',
    action: '/auth/accept-invitation',
    submit: 'Accept the invitation',
    hidden: { csrf, token: invitation },
    intro: (
      <>
        {about && <Invitation {...about} />}
        <p>
          <Whom {...user} /> The invitation will be this account’s.
        </p>
      </>
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

/** Renders who invites the person to what, with their message. */
function Invitation({ orgName, workspaceName, inviterName, message }: InvitationDescription): VNode {
  return (
    <>
      <p>
        <strong>{inviterName ?? 'Somebody'}</strong> invites you to{' '}
        <strong>{workspaceName ?? orgName ?? 'a workspace'}</strong>
        {workspaceName !== undefined && orgName !== undefined && ` of ${orgName}`}.
      </p>
      {message !== undefined && message !== '' && <blockquote class="lead">{message}</blockquote>}
    </>
  );
}

function Whom({ name, email }: User): VNode {
  return (
    <>
      You are signed in as <strong>{name}</strong> ({email}).
    </>
  );
}

/** Renders the confirmation that a system's account was connected. */
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

/** Renders the confirmation that an agent may use an MCP server. */
export function authorizedPage(server: string, agent: string): string {
  return sitePage({
    title: 'Authorized',
    width: 'form',
    children: (
      <>
        <h1>Authorized</h1>
        <p>
          The agent <strong>{agent}</strong> may now use <strong>{server}</strong>. You can close this page.
        </p>
      </>
    ),
  });
}

/** Renders an error for requests that did not come from a form. */
export function errorPage(errors: FormErrors): string {
  return sitePage({
    title: 'Error',
    width: 'form',
    children: (
      <>
        <h1>Sorry</h1>
        <Summary {...errors} />
        <p>
          <a href="/auth/sign-in">Go to your account</a>
        </p>
      </>
    ),
  });
}
