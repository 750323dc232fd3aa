import type {
  AcceptInvitationResponse,
  SignInRequest,
  SignInResponse,
  SignUpRequest,
} from '@commonplace/proto/identity/v1/auth_service.js';
import type { Query } from './submission.js';

type Body = Readonly<Record<string, unknown>>;

/** Reads and writes the messages of `/auth` by the same rules as those of any endpoint. */
export interface AuthMessages {
  /** Reads the fields of a sign-in. Throws an error with all faults of the body at once. */
  signIn(body: Body, query: Query): Pick<SignInRequest, 'email' | 'password' | 'code'>;
  signUp(body: Body, query: Query): Pick<SignUpRequest, 'email' | 'password' | 'name' | 'invitationToken'>;
  /** Returns the invitation's token. */
  invitation(body: Body, query: Query): string;
  /** Refuses a body with any field. */
  nothing(body: Body, query: Query): void;
  /** Returns `{user, csrf_token, expires_at}` as JSON, without the session itself, which is only sent as a cookie. */
  session(answer: SignInResponse): string;
  /** Returns a function that reads the named fields of an rpc's request from a body. */
  reader<T>(rpc: string, ...fields: string[]): (body: Body, query: Query) => T;
  /** Returns a function that writes an rpc's answer as JSON, with all of its fields or the named ones. */
  writer(rpc: string, ...fields: string[]): (answer: object) => string;
  /** Returns `{org_id, workspace_id}` as JSON. */
  joined(answer: AcceptInvitationResponse): string;
}
