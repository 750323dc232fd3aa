import type { DescMessage, DescMethod } from '@bufbuild/protobuf';
import { invalidField } from '@commonplace/kit/errors';
import type {
  AcceptInvitationRequest,
  AcceptInvitationResponse,
  SignInRequest,
  SignInResponse,
  SignUpRequest,
} from '@commonplace/proto/identity/v1/auth_service.js';
import type { Contract } from '../../descriptors/contract.js';
import { compileEndpoint } from '../../request/endpoint.js';
import { createPlans, type FieldPlan } from '../../request/plan.js';
import type { RequestInput } from '../../request/reading.js';
import { createWriters, writeMessage } from '../../response/message.js';

type Body = Readonly<Record<string, unknown>>;
type Query = RequestInput['query'];

/** How the messages of `/auth` are read and written: by the same rules as those of any endpoint. */
export interface AuthMessages {
  /** Throws an error with all faults of the body at once. */
  signIn(body: Body, query: Query): Pick<SignInRequest, 'email' | 'password'>;
  signUp(body: Body, query: Query): Pick<SignUpRequest, 'email' | 'password' | 'name' | 'invitationToken'>;
  /** The invitation's token. */
  invitation(body: Body, query: Query): string;
  /** Takes no field. */
  nothing(body: Body, query: Query): void;
  /** `{user, csrf_token, expires_at}`: all but the session itself, which is for the cookie. */
  session(answer: SignInResponse): string;
  /** `{org_id, workspace_id}` */
  joined(answer: AcceptInvitationResponse): string;
}

/** The messages as the contract's descriptors tell them. */
export function createAuthMessages(contract: Contract): AuthMessages {
  const plans = createPlans(contract);
  const writersOf = createWriters(contract);
  const methods = methodsOf(contract);
  const signIn = methods('SignIn');
  const invitation = methods('AcceptInvitation');

  /** Reads bodies with these fields: their names in JSON, and in the contract. */
  const reader = (input: DescMessage, names: Readonly<Record<string, string>>) => {
    const plan = plans(input);
    const keys = new Map(Object.entries(names).map(([name, field]) => [name, plan.keys.get(field) as FieldPlan]));
    const recordFields = new Set<string>();
    const endpoint = { method: 'POST', path: '/auth', bodyField: '*', input, recordFields } as const;
    const parse = compileEndpoint(() => ({ ...plan, keys }), endpoint);
    return (body: Body, query: Query) => parse({ params: {}, query, body }).message as never;
  };

  const tokenOf = reader(invitation.input, { token: 'invitation_token' });
  const shown = writersOf(signIn.output).filter(({ shape }) => shape.name !== 'session');
  const joined = writersOf(invitation.output);
  return {
    signIn: reader(signIn.input, same('email', 'password')),
    signUp: reader(methods('SignUp').input, same('email', 'password', 'name', 'invitation_token')),
    invitation: (body, query) => {
      const { invitationToken } = tokenOf(body, query) as AcceptInvitationRequest;
      if (invitationToken === '') throw invalidField('token', 'missing_field', 'token is required.');
      return invitationToken;
    },
    nothing: reader(methods('SignOut').input, {}),
    session: (answer) => writeMessage({ ...answer }, shown),
    joined: (answer) => writeMessage({ ...answer }, joined),
  };
}

function methodsOf({ services }: Contract): (name: string) => DescMethod {
  const methods = services.find(({ typeName }) => typeName === 'commonplace.identity.v1.AuthService')?.methods ?? [];
  return (name) => {
    const method = methods.find((one) => one.name === name);
    if (method === undefined) throw new Error(`the contract has no ${name} of people`);
    return method;
  };
}

function same(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, name]));
}
