import { authorOf, type Caller } from '@commonplace/kit/auth';
import type { CallContext, CallOptions } from '@commonplace/kit/rpc';
import type { Collection } from '@commonplace/kit/store';
import { commonTo, type MembershipCache, type PersonMemberships, sharedWith } from '@commonplace/platform/memberships';
import { actingAgent } from '../domain/agent-access.js';
import { type Grant, isExpired } from '../domain/grant.js';
import { linkPrincipal } from '../domain/principals.js';
import type { TermsCache } from '../terms.js';
import type { AccessSubject, GrantsByResource, Policy } from './port.js';

interface SubjectParts {
  readonly grants: Collection<Grant>;
  readonly memberships: MembershipCache;
  readonly terms: TermsCache;
}

export interface Subjects extends Pick<Policy, 'subject' | 'subjectFor'> {
  /** Returns the subject of a person with the given memberships, without the limits of a credential. */
  ofPerson(person: PersonMemberships, onward: CallOptions): AccessSubject;
  /** Returns the subject of a caller whose request has ended, without the share link that it presented. */
  ofCaller(caller: Caller, onward: CallOptions): Promise<AccessSubject>;
}

/** Creates the access subjects of callers and of other people. */
export function createSubjects({ grants, memberships, terms }: SubjectParts): Subjects {
  /** Returns the subject of a caller with their memberships, which it reloads when it is refreshed. */
  function freshSubject(
    caller: Caller,
    known: PersonMemberships,
    now: string,
    onward: CallOptions,
    link: Grant | undefined,
    author: AccessSubject | undefined,
    call?: AccessSubject['call'],
  ): AccessSubject {
    const of = (own: PersonMemberships) => ({
      own,
      person: sharedWith(commonTo(own, author?.own), caller.agent),
      principals: principalsOf(own, link),
    });
    const subject = {
      ...{ caller, call, now, link, author, agent: actingAgent(caller.agent), ...of(known) },
      held: new Map<string, Promise<GrantsByResource>>(),
      heldIn: new Map<string, Promise<Grant[]>>(),
      fresh: false,
      async refresh() {
        if (subject.fresh) return;
        subject.fresh = true;
        const [own] = await Promise.all([memberships.fresh(caller.userId, onward), author?.refresh()]);
        Object.assign(subject, of(own));
        subject.held.clear();
        subject.heldIn.clear();
      },
      terms: (workspaceId: string) => terms.of(workspaceId, onward),
    };
    return subject;
  }

  /** Returns the subject of the author whose rights limit a call; undefined without one. */
  async function authorSubject(caller: Caller, now: string, onward: CallOptions): Promise<AccessSubject | undefined> {
    const author = authorOf(caller);
    if (author === undefined) return undefined;
    const { agent: _, ...alone } = author;
    return freshSubject(alone, await memberships.of(alone.userId, onward), now, onward, undefined, undefined);
  }

  /** Returns a subject that keeps the memberships it is given. */
  const fixedSubject = (
    caller: Caller,
    own: PersonMemberships,
    now: string,
    onward: CallOptions,
    author?: AccessSubject,
  ): AccessSubject => ({
    ...{ caller, call: undefined, own, author, now, link: undefined },
    person: sharedWith(commonTo(own, author?.own), caller.agent),
    agent: actingAgent(caller.agent),
    principals: own.principals,
    held: new Map(),
    heldIn: new Map(),
    refresh: async () => {},
    terms: (workspaceId) => terms.of(workspaceId, onward),
  });

  /**
   * Returns the grant of the share link that a request presents. If the Org does not allow external sharing, a link for
   * anyone counts as a link for the Org.
   */
  async function presentedLink(shareLink: string, context: CallContext, now: string): Promise<Grant | undefined> {
    const [grant] = await grants.find({ where: { principal: linkPrincipal(shareLink) }, limit: 1 });
    if (grant === undefined || isExpired(grant, now)) return undefined;
    if (grant.link?.audience !== 'anyone') return grant;
    const { allowExternalSharing } = await terms.of(grant.workspaceId, context.onward);
    return allowExternalSharing ? grant : { ...grant, link: { ...grant.link, audience: 'org' } };
  }

  const ofPerson = (person: PersonMemberships, onward: CallOptions): AccessSubject =>
    fixedSubject(unlimited(person), person, new Date().toISOString(), onward);

  return {
    async subject(context) {
      const { caller, metadata, onward } = context;
      const now = new Date().toISOString();
      const { shareLink } = metadata;
      const own = memberships.of(caller.userId, onward);
      const author = authorSubject(caller, now, onward);
      const link = shareLink === undefined ? undefined : await presentedLink(shareLink, context, now);
      return freshSubject(caller, await own, now, onward, link, await author, context);
    },
    subjectFor: async (userId, { onward }) => ofPerson(await memberships.of(userId, onward), onward),
    ofPerson,
    async ofCaller(caller, onward) {
      const now = new Date().toISOString();
      const own = memberships.of(caller.userId, onward);
      const author = await authorSubject(caller, now, onward);
      return fixedSubject(caller, await own, now, onward, author);
    },
  };
}

function principalsOf(person: PersonMemberships, link: Grant | undefined): readonly string[] {
  return link === undefined ? person.principals : [...person.principals, link.principal];
}

/** Returns a caller who stands for a person without the limits of a credential. */
function unlimited({ userId }: PersonMemberships): Caller {
  const credential = { type: 'internal', id: `person_${userId}`, scopes: [] } as const;
  return { userId, userName: '', userEmail: '', credential };
}
