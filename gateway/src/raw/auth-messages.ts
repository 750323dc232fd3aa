import type { DescMessage, DescMethod } from '@bufbuild/protobuf';
import { invalidField } from '@commonplace/kit/errors';
import type { AcceptInvitationRequest } from '@commonplace/proto/identity/v1/auth_service.js';
import type { AuthMessages, Query } from '@commonplace/site/auth';
import type { Contract } from '../descriptors/contract.js';
import { SESSION_FIELDS } from '../openapi/hand-written-table.js';
import { compileEndpoint } from '../request/endpoint.js';
import { createPlans, type FieldPlan } from '../request/plan.js';
import { createWriters, writeMessage } from '../response/message.js';

type Body = Readonly<Record<string, unknown>>;

/** Compiles the readers and writers from the contract's descriptors. */
export function createAuthMessages(contract: Contract): AuthMessages {
  const plans = createPlans(contract);
  const writersOf = createWriters(contract);
  const methods = methodsOf(contract);
  const signIn = methods('SignIn');
  const invitation = methods('AcceptInvitation');

  /**
   * Returns a function that reads bodies with the given fields. `names` maps names in JSON to names in the contract.
   */
  const reader = (input: DescMessage, names: Readonly<Record<string, string>>) => {
    const plan = plans(input);
    const keys = new Map(Object.entries(names).map(([name, field]) => [name, plan.keys.get(field) as FieldPlan]));
    const recordFields = new Set<string>();
    const endpoint = { method: 'POST', path: '/auth', bodyField: '*', input, recordFields } as const;
    const parse = compileEndpoint(() => ({ ...plan, keys }), endpoint);
    return (body: Body, query: Query) => parse({ params: {}, query, body }).message as never;
  };

  const tokenOf = reader(invitation.input, { token: 'invitation_token' });
  const shown = writersOf(signIn.output).filter(({ shape }) => SESSION_FIELDS.has(shape.name));
  const joined = writersOf(invitation.output);
  return {
    signIn: reader(signIn.input, same('email', 'password', 'code')),
    signUp: reader(methods('SignUp').input, same('email', 'password', 'name', 'invitation_token')),
    invitation: (body, query) => {
      const { invitationToken } = tokenOf(body, query) as AcceptInvitationRequest;
      if (invitationToken === '') throw invalidField('token', 'missing_field', 'token is required.');
      return invitationToken;
    },
    nothing: reader(methods('SignOut').input, {}),
    session: (answer) => writeMessage({ ...answer }, shown),
    joined: (answer) => writeMessage({ ...answer }, joined),
    reader: (rpc, ...fields) => reader(methods(rpc).input, same(...fields)),
    writer: (rpc, ...names) => {
      const all = writersOf(methods(rpc).output);
      const fields = names.length === 0 ? all : all.filter(({ shape }) => names.includes(shape.name));
      return (answer) => writeMessage({ ...answer }, fields);
    },
  };
}

const SERVICES = ['commonplace.identity.v1.AuthService', 'commonplace.identity.v1.AccountSecurityService'];

function methodsOf({ services }: Contract): (name: string) => DescMethod {
  const methods = services.filter(({ typeName }) => SERVICES.includes(typeName)).flatMap((service) => service.methods);
  return (name) => {
    const method = methods.find((one) => one.name === name);
    if (method === undefined) throw new Error(`the contract has no rpc ${name} for accounts`);
    return method;
  };
}

function same(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, name]));
}
