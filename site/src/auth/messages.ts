import type {
  AcceptInvitationResponse,
  SignInRequest,
  SignInResponse,
  SignUpRequest,
} from '@commonplace/proto/identity/v1/auth_service.js';
import type { Query } from './submission.js';

type Body = Readonly<Record<string, unknown>>;

/** Reads and writes the messages of `/auth` by the same rules as those of endpoints. */
export interface AuthMessages {
  /** Reads the fields of a sign-in. Throws an error with all faults of the body at once. */
  signIn(body: Body, query: Query): Pick<SignInRequest, 'email' | 'password' | 'code'>;
  signUp(body: Body, query: Query): Pick<SignUpRequest, 'email' | 'password' | 'name' | 'invitationToken'>;
  /** Reads the token of an invitation. */
  invitation(body: Body, query: Query): string;
  /** Throws if the body has any field. */
  nothing(body: Body, query: Query): void;
  /** Renders `{user, csrf_token, expires_at}` as JSON. The session itself is sent only as a cookie. */
  session(answer: SignInResponse): string;
  /** Returns a function that reads the named fields of an rpc's request from a body. */
  reader<T>(rpc: string, ...fields: string[]): (body: Body, query: Query) => T;
  /** Returns a function that renders an rpc's answer as JSON, with all fields or only the named ones. */
  writer(rpc: string, ...fields: string[]): (answer: object) => string;
  /** Renders `{org_id, workspace_id}` as JSON. */
  joined(answer: AcceptInvitationResponse): string;
}
