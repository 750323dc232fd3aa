import { KNOWN_SCOPES } from '@commonplace/kit/auth';
import type { Passkey, Security, Session } from '@commonplace/proto/identity/v1/account_security_service.js';
import type { ApiKey } from '@commonplace/proto/identity/v1/api_key_service.js';
import type { ComponentChildren, VNode } from 'preact';
import { type Field, Form, Summary } from '../auth/form.js';
import type { FormErrors } from '../auth/form-errors.js';
import { HOME } from '../auth/next.js';
import { newPassword, OLD_PASSWORD } from '../auth/pages.js';
import { NoPasskeyHost, PasskeyRegistration } from '../auth/passkey-forms.js';
import { PASSKEY_SCRIPT } from '../page/assets.js';
import { sitePage } from '../page/site.js';

/** Data that the account page shows. */
export interface AccountData {
  readonly csrf: string;
  readonly security: Security;
  readonly sessions: readonly Session[];
  readonly keys: readonly ApiKey[];
  readonly passkeys: readonly Passkey[];
  /** Whether browsers can use passkeys with this server's host name. */
  readonly hasPasskeyHost: boolean;
  readonly passwordMinLength: number;
}

const DONE = {
  session_ended: 'The session was ended.',
  sessions_ended: 'All your other sessions were ended.',
  password_changed: 'Your password was changed, and all your other sessions were ended.',
  confirmed: 'Thank you. You can make sensitive changes for a while.',
  totp_added: 'The authenticator app is set up, and its recovery codes were shown.',
  totp_removed: 'The authenticator app and its recovery codes were removed.',
  verification_sent: 'A link is on its way to your address.',
  key_revoked: 'The API key was revoked.',
  passkey_added: 'The passkey was added.',
  passkey_renamed: 'The passkey was renamed.',
  passkey_removed: 'The passkey was removed.',
} as const;

/** The action that was just completed. */
export type Done = keyof typeof DONE;
/** A form of the page that can show errors. */
export type FormName = 'password' | 'confirm' | 'key';

export function isDone(text: string): text is Done {
  return Object.hasOwn(DONE, text);
}

interface AccountState {
  readonly done?: Done;
  readonly errors?: FormErrors;
  readonly form?: FormName | undefined;
  /** What was entered in that form. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Whether the person has to confirm their identity first. */
  readonly confirm?: boolean;
}

/** Renders the account page: the person, their sessions and keys, and the protection of the account. */
export function accountPage(data: AccountData, state: AccountState = {}): string {
  const { done, errors, form, values = {}, confirm = false } = state;
  const errorsOf = (name: FormName) => (form === name ? errors : undefined);
  return sitePage({
    title: errors === undefined ? 'Account' : 'Error: Account',
    scripts: data.hasPasskeyHost ? [PASSKEY_SCRIPT.path] : [],
    children: (
      <>
        <h1>Your account</h1>
        {done && (
          <p class="notice" role="status">
            {DONE[done]}
          </p>
        )}
        {errors && <Summary {...prefixed(errors, form)} />}
        {confirm && <Confirm {...data} errors={errorsOf('confirm')} />}
        <Person {...data} />
        {data.security.hasPassword && <Password {...data} errors={errorsOf('password')} />}
        {data.security.hasPassword && <SecondFactor {...data} />}
        {data.security.hasPassword && <Passkeys {...data} />}
        <Sessions {...data} />
        <Keys {...data} errors={errorsOf('key')} values={form === 'key' ? values : {}} />
        {!confirm && data.security.hasPassword && <Confirm {...data} errors={errorsOf('confirm')} />}
      </>
    ),
  });
}

/** Makes the links of the error summary point to the fields of the form that failed. */
function prefixed(errors: FormErrors, form: FormName | undefined): FormErrors {
  if (form === undefined) return errors;
  const fields = Object.entries(errors.fields).map(([name, message]) => [`${form}-${name}`, message]);
  return { ...errors, fields: Object.fromEntries(fields) };
}

type SectionData = AccountData & { readonly errors?: FormErrors | undefined };

function Person({ csrf, security }: AccountData): VNode {
  const { user, emailVerified, mailAvailable, passwordChangeRequired, secondFactorRequired } = security;
  return (
    <section aria-labelledby="person">
      <h2 id="person">You</h2>
      <p>
        You are signed in as <strong>{user?.name}</strong> ({user?.email}
        {emailVerified ? ', verified' : ', not verified'}).
      </p>
      {!emailVerified && mailAvailable && (
        <Form
          title=""
          action="/auth/verify-email/send"
          submit="Send a link that confirms the address"
          hidden={{ csrf }}
        />
      )}
      {passwordChangeRequired && (
        <p class="notice">Your password was set by the operator and works only once. Choose a new one now.</p>
      )}
      {secondFactorRequired && (
        <p class="notice">
          This server requires a second factor. Add an authenticator app or a passkey below: until then you can use
          nothing but this page.
        </p>
      )}
      <p>
        <a href={HOME}>Go to the API’s documentation</a>
      </p>
      <Form title="" action="/auth/sign-out" submit="Sign out" hidden={{ csrf }} />
    </section>
  );
}

function Password({ csrf, security, passwordMinLength, errors }: SectionData): VNode {
  return (
    <section aria-labelledby="password">
      <h2 id="password">Password</h2>
      <Form
        title=""
        action="/auth/change-password"
        submit="Change the password"
        idPrefix="password-"
        hidden={{ csrf }}
        fields={[
          { ...OLD_PASSWORD, name: 'current_password', label: 'Current password' },
          { ...newPassword(passwordMinLength), name: 'new_password', label: 'New password' },
          ...codeFields(security),
        ]}
        errors={errors}
      >
        <p class="hint">Your other sessions end when you change it.</p>
      </Form>
    </section>
  );
}

function Confirm({ csrf, security, errors }: SectionData): VNode {
  return (
    <section aria-labelledby="confirm">
      <h2 id="confirm">Confirm who you are</h2>
      <p>Sensitive changes, such as a new API key, need a recent proof that it is you.</p>
      <Form
        title=""
        action="/auth/reauthenticate"
        submit="Confirm"
        idPrefix="confirm-"
        hidden={{ csrf }}
        fields={[OLD_PASSWORD, ...codeFields(security)]}
        errors={errors}
      />
    </section>
  );
}

/** Returns the field for the second factor's code; none if no second factor is enabled. */
function codeFields({ totpEnabled }: Security): Field[] {
  return totpEnabled ? [{ name: 'code', label: 'Code', type: 'text', autocomplete: 'one-time-code' }] : [];
}

function SecondFactor({ csrf, security }: AccountData): VNode {
  const { totpEnabled, recoveryCodesLeft } = security;
  return (
    <section aria-labelledby="second-factor">
      <h2 id="second-factor">Authenticator app</h2>
      {totpEnabled ? (
        <>
          <p>Sign-ins by password need a code of your app. You have {recoveryCodesLeft} recovery codes left.</p>
          <p class="hint">If you have lost them, make new ones: they are shown once, and the earlier ones end.</p>
          <Form title="" action="/auth/recovery-codes" submit="New recovery codes" hidden={{ csrf }} />
          <Form title="" action="/auth/totp/remove" submit="Remove the app" hidden={{ csrf }} />
        </>
      ) : (
        <>
          <p>A code of an app on your phone, beside your password, keeps others out who know the password.</p>
          <Form title="" action="/auth/totp/begin" submit="Add an authenticator app" hidden={{ csrf }} />
        </>
      )}
    </section>
  );
}

function Passkeys({ csrf, passkeys, hasPasskeyHost }: AccountData): VNode {
  return (
    <section aria-labelledby="passkeys">
      <h2 id="passkeys">Passkeys</h2>
      <p>A passkey signs you in with your device: no password and no code.</p>
      {passkeys.length > 0 && (
        <Table label="Your passkeys" head={['Name', 'Added', 'Last used', 'Rename', 'Remove']}>
          {passkeys.map(({ id, name, createdAt, lastUsedAt }) => (
            <tr key={id}>
              <td>{name}</td>
              <td>{timeText(createdAt)}</td>
              <td>{timeText(lastUsedAt) || 'never'}</td>
              <td>
                <Form
                  title=""
                  action="/auth/passkeys/rename"
                  submit="Rename"
                  subject={name}
                  idPrefix={`passkey-${id}-`}
                  hidden={{ csrf, passkey_id: id }}
                  fields={[{ name: 'name', label: 'New name', type: 'text', autocomplete: 'off' }]}
                />
              </td>
              <td>
                <Form
                  title=""
                  action="/auth/passkeys/remove"
                  submit="Remove"
                  subject={name}
                  hidden={{ csrf, passkey_id: id }}
                />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {hasPasskeyHost ? <PasskeyRegistration csrf={csrf} next={DONE_PASSKEY} /> : <NoPasskeyHost />}
    </section>
  );
}

/** Path that the browser opens after it has added a passkey. */
const DONE_PASSKEY = '/auth/account?done=passkey_added';

function Sessions({ csrf, sessions }: AccountData): VNode {
  return (
    <section aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      <Table label="Your sessions" head={['Device', 'Network', 'Signed in', 'Last used', 'End']}>
        {sessions.map((session) => (
          <tr key={session.id}>
            <td>
              {session.device ?? 'Unknown device'}
              {session.current && <strong> (this one)</strong>}
            </td>
            <td>{session.network ?? 'unknown'}</td>
            <td>{timeText(session.createdAt)}</td>
            <td>{timeText(session.lastUsedAt)}</td>
            <td>
              <Form
                title=""
                action="/auth/sessions/end"
                submit="End"
                subject={`${session.device ?? 'Unknown device'}, last used ${timeText(session.lastUsedAt)}`}
                hidden={{ csrf, session_id: session.id }}
              />
            </td>
          </tr>
        ))}
      </Table>
      {sessions.length > 1 && (
        <Form title="" action="/auth/sessions/end-others" submit="End all other sessions" hidden={{ csrf }} />
      )}
    </section>
  );
}

function Keys({
  csrf,
  keys,
  errors,
  values,
}: SectionData & { readonly values: Readonly<Record<string, unknown>> }): VNode {
  return (
    <section aria-labelledby="keys">
      <h2 id="keys">API keys</h2>
      {keys.length === 0 ? (
        <p>You have no API keys.</p>
      ) : (
        <Table label="Your API keys" head={['Name', 'Key', 'Scopes', 'Last used', 'Ends', 'Revoke']}>
          {keys.map((key) => (
            <tr key={key.id}>
              <td>{key.name}</td>
              <td>
                <code>
                  {key.keyPrefix}…{key.last4}
                </code>
              </td>
              <td>{key.scopes.length === KNOWN_SCOPES.length ? 'all' : key.scopes.join(', ')}</td>
              <td>{timeText(key.lastUsedAt) || 'never'}</td>
              <td>{timeText(key.expiresAt) || 'never'}</td>
              <td>
                <Form
                  title=""
                  action="/auth/account/keys/revoke"
                  submit="Revoke"
                  subject={`${key.name} ${key.keyPrefix}`}
                  hidden={{ csrf, key_id: key.id }}
                />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <h3>New API key</h3>
      <Form
        title=""
        action="/auth/account/keys"
        submit="Create the key"
        idPrefix="key-"
        hidden={{ csrf }}
        fields={[
          { name: 'name', label: 'Name of the key', type: 'text', autocomplete: 'off' },
          {
            name: 'days',
            label: 'Days until it ends',
            type: 'text',
            autocomplete: 'off',
            inputMode: 'numeric',
            optional: true,
            hint: 'Leave it empty for a key that does not end.',
          },
        ]}
        values={values}
        errors={errors}
      >
        <fieldset class="field">
          <legend>Scopes</legend>
          {KNOWN_SCOPES.map((scope) => (
            <label key={scope} class="choice">
              <input type="checkbox" name={`scope:${scope}`} checked={values[`scope:${scope}`] === 'on'} /> {scope}
            </label>
          ))}
        </fieldset>
      </Form>
    </section>
  );
}

interface TableParts {
  readonly label: string;
  readonly head: readonly string[];
  readonly children: ComponentChildren;
}

/** Renders a table that scrolls by itself in a narrow window. */
function Table({ label, head, children }: TableParts): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls the table by its focus.
    <section class="wide" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

/** Formats a time as `2026-11-23 14:05 UTC`; empty if there is no time. */
function timeText(time: string | undefined): string {
  return time === undefined ? '' : `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`;
}
