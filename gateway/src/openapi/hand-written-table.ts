import type { Schema } from './values.js';

/** A route outside the contract that programs use. */
export interface HandWritten {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  readonly path: string;
  readonly operationId: string;
  readonly tag: 'Sign-in' | 'Signed URLs' | 'Health';
  readonly summary: string;
  readonly description?: string;
  /** Whether the route needs a session. Writes need its CSRF token as well. */
  readonly session?: boolean;
  /** The rpc of identity that defines the messages of request and answer. */
  readonly rpc?: string;
  /** Fields of the body: maps names in JSON to names in the rpc's request. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Fields that are required although optional in the rpc's request. */
  readonly required?: readonly string[];
  /** Schemas of fields whose form in JSON differs from the form in the rpc. */
  readonly schemas?: Readonly<Record<string, Schema>>;
  /** A valid example of a body; `{}` for a route without fields. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** The part of the rpc's answer that is returned, with its schema name in the document. */
  readonly shown?: { readonly name: string; readonly fields: ReadonlySet<string> };
  /** Schema of `data`, if it is not the rpc's answer. */
  readonly data?: Schema;
  /** Schema of the whole answer, if it has no envelope. */
  readonly bare?: Schema;
  /** Media type of the bytes transferred. */
  readonly bytes?: string;
  /** Error codes specific to the route; those of its gates and its body are derived. */
  readonly errors?: readonly string[];
  readonly success?: number;
  readonly notReady?: boolean;
}

/** A row of the table; its method is POST unless it names another one. */
type Row = Omit<HandWritten, 'method'> & Partial<HandWritten>;

/**
 * Fields of a session that are answered. The session itself is sent as a cookie, and a required second factor is
 * answered as an error.
 */
export const SESSION_FIELDS: ReadonlySet<string> = new Set(['user', 'csrf_token', 'expires_at']);

const same = (...names: string[]) => Object.fromEntries(names.map((name) => [name, name]));
const done = (name: string): Schema => ({
  type: 'object',
  required: [name],
  properties: { [name]: { type: 'boolean', const: true } },
});
const status = (...values: string[]): Schema => ({
  type: 'object',
  required: ['status'],
  properties: { status: { type: 'string', enum: values } },
});

const SIGN_IN = { tag: 'Sign-in' } as const;
const ACCOUNT = { ...SIGN_IN, session: true } as const;
const BEGUN = { shown: { name: 'SignedIn', fields: SESSION_FIELDS } } as const;
const COOKIE = 'The answer sets the session cookie; `csrf_token` goes into `X-CSRF-Token` of every write.';
const NEW_COOKIE = 'The answer sets a new session cookie, and the one before ends; the CSRF token stays.';
const RECENT = 'Needs a recent sign-in, or answers 403 `reauthentication_required`.';
const RECENT_FOR_OTHERS =
  "Needs a recent sign-in for another session than the request's own, or answers 403 `reauthentication_required`.";

const SESSIONS: readonly Row[] = [
  {
    ...SIGN_IN,
    ...BEGUN,
    path: '/auth/sign-in',
    operationId: 'signIn',
    errors: ['401:invalid_credentials', '401:second_factor_required', 'wrong_code'],
    rpc: 'SignIn',
    fields: same('email', 'password', 'code'),
    example: { email: 'ada@example.com', password: 'correct horse battery staple' },
    summary: 'Begins a session by e-mail address and password',
    description: `${COOKIE} Answers 401 \`second_factor_required\` with \`details.challenge\` where a code is needed.`,
  },
  {
    ...SIGN_IN,
    ...BEGUN,
    path: '/auth/second-factor',
    operationId: 'completeSignIn',
    errors: ['expired_credentials', 'invalid_credentials', 'wrong_code'],
    rpc: 'CompleteSignIn',
    fields: same('challenge', 'code'),
    example: { challenge: 'c2lnbi1pbi1jaGFsbGVuZ2U', code: '492039' },
    summary: 'Completes a sign-in by a code of the second factor',
    description: COOKIE,
  },
  {
    ...SIGN_IN,
    ...BEGUN,
    path: '/auth/sign-up',
    operationId: 'signUp',
    errors: [
      'weak_password',
      'sign_up_closed',
      'invitation_required',
      'invitation_address_mismatch',
      'email_domain_not_allowed',
      'external_sharing_disabled',
      'expired_link',
      'already_exists',
    ],
    rpc: 'SignUp',
    fields: same('email', 'password', 'name', 'invitation_token'),
    example: { email: 'ada@example.com', password: 'correct horse battery staple', name: 'Ada Lovelace' },
    success: 201,
    summary: 'Makes an account and begins a session',
    description: `${COOKIE} With \`invitation_token\` the new person joins the Org or workspace of the invitation.`,
  },
  {
    ...ACCOUNT,
    ...BEGUN,
    method: 'get',
    path: '/auth/session',
    operationId: 'getSession',
    rpc: 'GetSession',
    summary: 'Reads who is signed in, and the CSRF token of the session',
  },
  {
    ...ACCOUNT,
    path: '/auth/sign-out',
    operationId: 'signOut',
    data: done('signed_out'),
    summary: 'Ends the session',
  },
  {
    ...ACCOUNT,
    path: '/auth/accept-invitation',
    operationId: 'acceptInvitation',
    errors: [
      'email_domain_not_allowed',
      'email_not_verified',
      'external_sharing_disabled',
      'invitation_address_mismatch',
      'expired_link',
      'already_member',
      '403:second_factor_required',
    ],
    rpc: 'AcceptInvitation',
    fields: { token: 'invitation_token' },
    example: { token: 'aW52aXRhdGlvbi10b2tlbg' },
    required: ['token'],
    summary: 'Joins the Org or workspace of an invitation',
  },
  {
    ...ACCOUNT,
    method: 'get',
    path: '/auth/sessions',
    operationId: 'listSessions',
    rpc: 'ListSessions',
    summary: "Lists the person's sessions",
  },
  {
    ...ACCOUNT,
    method: 'delete',
    path: '/auth/sessions/{session_id}',
    operationId: 'deleteSession',
    errors: ['not_found', 'reauthentication_required'],
    rpc: 'EndSession',
    summary: "Ends one of the person's sessions",
    description: RECENT_FOR_OTHERS,
  },
  {
    ...ACCOUNT,
    path: '/auth/sessions/end',
    operationId: 'endSession',
    errors: ['not_found', 'reauthentication_required'],
    rpc: 'EndSession',
    fields: same('session_id'),
    example: { session_id: '0198c0de-0000-7000-8000-000000000001' },
    summary: "Ends one of the person's sessions, named in the body",
    description: RECENT_FOR_OTHERS,
  },
  {
    ...ACCOUNT,
    path: '/auth/sessions/end-others',
    operationId: 'endOtherSessions',
    errors: ['reauthentication_required'],
    rpc: 'EndOtherSessions',
    summary: 'Ends all sessions but this one',
    description: RECENT,
  },
];

const SECURITY: readonly Row[] = [
  {
    ...ACCOUNT,
    method: 'get',
    path: '/auth/security',
    operationId: 'getSecurity',
    rpc: 'GetSecurity',
    summary: 'Reads how the account is secured',
  },
  {
    ...ACCOUNT,
    path: '/auth/change-password',
    operationId: 'changePassword',
    errors: [
      'weak_password',
      'wrong_password',
      'wrong_code',
      'no_password',
      'reauthentication_required',
      '403:second_factor_required',
    ],
    rpc: 'ChangePassword',
    fields: same('current_password', 'new_password', 'code'),
    example: { current_password: 'correct horse battery staple', new_password: 'four quiet green lanterns' },
    summary: 'Changes the password and ends all other sessions',
  },
  {
    ...SIGN_IN,
    path: '/auth/forgot-password',
    operationId: 'requestPasswordReset',
    rpc: 'RequestPasswordReset',
    fields: same('email'),
    example: { email: 'ada@example.com' },
    data: done('requested'),
    summary: 'Sends a link that resets the password',
    description: 'The answer is the same for every address.',
  },
  {
    ...SIGN_IN,
    path: '/auth/reset-password',
    operationId: 'resetPassword',
    errors: ['weak_password', 'expired_link'],
    rpc: 'ResetPassword',
    fields: same('token', 'new_password'),
    example: { token: 'cmVzZXQtdG9rZW4', new_password: 'four quiet green lanterns' },
    summary: 'Sets a new password by the token of a reset link',
  },
  {
    ...ACCOUNT,
    path: '/auth/reauthenticate',
    operationId: 'reauthenticate',
    errors: ['wrong_password', 'wrong_code', 'no_password', '403:second_factor_required', 'not_found'],
    rpc: 'Reauthenticate',
    shown: { name: 'ReauthenticateResponse', fields: new Set(['recent_until']) },
    fields: same('password', 'code'),
    example: { password: 'correct horse battery staple' },
    summary: 'Proves again who is signed in, for sensitive changes',
    description: NEW_COOKIE,
  },
  {
    ...ACCOUNT,
    path: '/auth/totp/begin',
    operationId: 'beginTotp',
    errors: ['reauthentication_required', 'already_exists'],
    rpc: 'BeginTotp',
    summary: 'Begins to set up an authenticator app',
    description: RECENT,
  },
  {
    ...ACCOUNT,
    path: '/auth/totp/confirm',
    operationId: 'confirmTotp',
    errors: ['wrong_code', 'not_found', 'reauthentication_required'],
    rpc: 'ConfirmTotp',
    fields: same('code'),
    example: { code: '492039' },
    summary: 'Confirms the authenticator app by a code, and answers the recovery codes once',
  },
  {
    ...ACCOUNT,
    path: '/auth/totp/remove',
    operationId: 'removeTotp',
    errors: ['not_found', 'reauthentication_required', 'wrong_code', '403:second_factor_required'],
    data: done('removed'),
    summary: 'Removes the authenticator app',
    description: RECENT,
  },
  {
    ...ACCOUNT,
    path: '/auth/recovery-codes',
    operationId: 'renewRecoveryCodes',
    errors: ['not_found', 'reauthentication_required'],
    rpc: 'RenewRecoveryCodes',
    summary: 'Replaces the recovery codes, and answers the new ones once',
    description: RECENT,
  },
  {
    ...ACCOUNT,
    path: '/auth/verify-email/send',
    operationId: 'requestEmailVerification',
    rpc: 'RequestEmailVerification',
    summary: 'Sends a link that confirms the e-mail address',
  },
  {
    ...SIGN_IN,
    path: '/auth/verify-email',
    operationId: 'verifyEmail',
    errors: ['expired_link'],
    rpc: 'VerifyEmail',
    fields: same('token'),
    example: { token: 'dmVyaWZpY2F0aW9uLXRva2Vu' },
    summary: 'Confirms an e-mail address by the token of a link',
  },
];

const PASSKEY_ID = '0198c0de-0000-7000-8000-000000000002';
const PASSKEY_OPTIONS: Schema = {
  type: 'object',
  required: ['options', 'expires_at'],
  properties: {
    options: {
      type: 'object',
      additionalProperties: true,
      description: 'What `navigator.credentials` takes (WebAuthn Level 3).',
    },
    expires_at: { type: 'string', format: 'date-time' },
  },
};
const CREDENTIAL: Schema = {
  type: 'object',
  additionalProperties: true,
  description: 'The `PublicKeyCredential` of the browser as JSON.',
};
const NEW_CREDENTIAL = {
  id: 'cGFzc2tleQ',
  rawId: 'cGFzc2tleQ',
  type: 'public-key',
  response: { clientDataJSON: 'e30', attestationObject: 'o2Nm' },
  clientExtensionResults: {},
};
const SIGNED_CREDENTIAL = {
  ...NEW_CREDENTIAL,
  response: { clientDataJSON: 'e30', authenticatorData: 'SZYN', signature: 'MEUC' },
};

const PASSKEYS: readonly Row[] = [
  {
    ...ACCOUNT,
    method: 'get',
    path: '/auth/passkeys',
    operationId: 'listPasskeys',
    rpc: 'ListPasskeys',
    summary: "Lists the person's passkeys",
  },
  {
    ...ACCOUNT,
    method: 'delete',
    path: '/auth/passkeys/{passkey_id}',
    operationId: 'deletePasskey',
    errors: ['not_found', 'reauthentication_required'],
    data: done('removed'),
    summary: 'Removes a passkey',
    description: RECENT,
  },
  {
    ...ACCOUNT,
    path: '/auth/passkeys/register/begin',
    operationId: 'beginPasskeyRegistration',
    errors: ['reauthentication_required', 'no_password', 'limit_reached'],
    data: PASSKEY_OPTIONS,
    summary: 'Begins to add a passkey, and answers the options for the browser',
    description: RECENT,
  },
  {
    ...ACCOUNT,
    path: '/auth/passkeys/register',
    operationId: 'completePasskeyRegistration',
    errors: [
      'reauthentication_required',
      'no_password',
      'passkey_not_verified',
      'limit_reached',
      'already_exists',
      'not_found',
    ],
    rpc: 'CompletePasskeyRegistration',
    fields: same('name', 'credential'),
    schemas: { credential: CREDENTIAL },
    example: { name: 'Laptop', credential: NEW_CREDENTIAL },
    summary: 'Adds the passkey that the browser has made',
  },
  {
    ...ACCOUNT,
    path: '/auth/passkeys/rename',
    operationId: 'renamePasskey',
    errors: ['not_found'],
    rpc: 'RenamePasskey',
    fields: same('passkey_id', 'name'),
    example: { passkey_id: PASSKEY_ID, name: 'Laptop at work' },
    summary: 'Renames a passkey',
  },
  {
    ...ACCOUNT,
    path: '/auth/passkeys/remove',
    operationId: 'removePasskey',
    errors: ['not_found', 'reauthentication_required'],
    rpc: 'RemovePasskey',
    fields: same('passkey_id'),
    example: { passkey_id: PASSKEY_ID },
    data: done('removed'),
    summary: 'Removes a passkey, named in the body',
    description: RECENT,
  },
  {
    ...SIGN_IN,
    path: '/auth/passkeys/sign-in/begin',
    operationId: 'beginPasskeySignIn',
    data: PASSKEY_OPTIONS,
    summary: 'Begins a sign-in with a passkey, and answers the options for the browser',
  },
  {
    ...SIGN_IN,
    ...BEGUN,
    path: '/auth/passkeys/sign-in',
    operationId: 'completePasskeySignIn',
    errors: ['expired_credentials', 'invalid_credentials', 'csrf_failed'],
    rpc: 'CompletePasskeySignIn',
    fields: same('credential'),
    schemas: { credential: CREDENTIAL },
    example: { credential: SIGNED_CREDENTIAL },
    summary: 'Begins a session by a passkey, without a password and a second factor',
    description: COOKIE,
  },
];

const UPLOADED: Schema = {
  type: 'object',
  required: ['resource_id', 'status', 'parts_missing'],
  properties: {
    resource_id: { type: 'string', format: 'uuid' },
    status: { type: 'string' },
    parts_missing: { type: 'integer', description: 'How many parts are still to be uploaded.' },
  },
};

const OTHERS: readonly Row[] = [
  {
    tag: 'Signed URLs',
    method: 'get',
    path: '/blobs/{token}',
    operationId: 'downloadBytes',
    errors: ['expired_link', 'bytes_missing', 'dependency_unavailable', 'file_not_ready'],
    bytes: '*/*',
    summary: 'Downloads the bytes of a signed URL',
    description: 'Takes `Range`; `HEAD` answers the headers alone.',
  },
  {
    tag: 'Signed URLs',
    method: 'put',
    path: '/blobs/{token}',
    operationId: 'uploadBytes',
    errors: [
      'expired_link',
      'payload_too_large',
      'checksum_mismatch',
      'storage_quota_exceeded',
      'upload_incomplete',
      'dependency_unavailable',
    ],
    bytes: 'application/octet-stream',
    data: UPLOADED,
    summary: 'Uploads the bytes of a file, or of one part, to a signed URL',
    description:
      'May be repeated: once the upload is complete, the same bytes get the same answer while the URL is valid.',
  },
  {
    tag: 'Health',
    method: 'get',
    path: '/health/live',
    operationId: 'getLiveness',
    bare: status('ok'),
    summary: 'Tells that the process runs',
  },
  {
    tag: 'Health',
    method: 'get',
    path: '/health/ready',
    operationId: 'getReadiness',
    bare: {
      ...status('ok', 'not_ready'),
      properties: {
        status: { type: 'string', enum: ['ok', 'not_ready'] },
        details: { type: 'object', additionalProperties: true, description: 'Facts for operators.' },
      },
    },
    notReady: true,
    summary: 'Tells whether the process takes requests',
  },
];

/** Every route outside the contract's endpoints that programs use. */
export const HAND_WRITTEN = [...SESSIONS, ...SECURITY, ...PASSKEYS, ...OTHERS].map(
  (row): HandWritten => ({ method: 'post', ...row }),
);
