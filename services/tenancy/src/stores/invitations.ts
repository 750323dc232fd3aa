import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { hashToken } from '../domain/invitation.js';
import { foldEmail } from '../domain/text.js';
import { findAll, findOne } from './all.js';

/** An open offer of a place; it goes when it is accepted, sent again or taken back. */
export interface Invitation extends StoredRecord {
  readonly tenant: string;
  /** SHA-256 of the token, which nobody keeps. */
  readonly tokenHash: string;
  readonly orgId?: string;
  readonly workspaceId?: string;
  readonly orgMemberId?: string;
  readonly workspaceMemberId?: string;
  /** Only this person may accept; whoever holds the token when absent. */
  readonly userId?: string;
  readonly email: string;
  readonly emailFold: string;
  /** What the inviter had to say. */
  readonly message?: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export const invitationCollection: CollectionSpec<Invitation> = {
  name: 'invitations',
  indexes: [
    { fields: ['tokenHash'], unique: true },
    { fields: ['emailFold'] },
    { fields: ['orgMemberId'] },
    { fields: ['workspaceMemberId'] },
    { fields: ['tenant'] },
  ],
};

export interface Invitations {
  readonly records: Collection<Invitation>;
  /** The invitation of a token, unless it has expired. */
  open(token: string, now: string): Promise<Invitation | undefined>;
  /** The open invitations of an address, the oldest first. */
  ofAddress(email: string, now: string): Promise<Invitation[]>;
  ofOrgMember(orgMemberId: string): Promise<Invitation[]>;
  ofWorkspaceMember(workspaceMemberId: string): Promise<Invitation[]>;
  ofTenant(tenant: string): Promise<Invitation[]>;
}

export function createInvitations(records: Collection<Invitation>): Invitations {
  return {
    records,
    async open(token, now) {
      const found = await findOne(records, { tokenHash: hashToken(token) });
      return found !== undefined && found.expiresAt > now ? found : undefined;
    },
    ofAddress: async (email, now) => {
      const found = await findAll(records, { emailFold: foldEmail(email) });
      return found.filter(({ expiresAt }) => expiresAt > now);
    },
    ofOrgMember: (orgMemberId) => findAll(records, { orgMemberId }),
    ofWorkspaceMember: (workspaceMemberId) => findAll(records, { workspaceMemberId }),
    ofTenant: (tenant) => findAll(records, { tenant }),
  };
}
