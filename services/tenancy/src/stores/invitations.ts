import type { Collection, CollectionSpec, StoredRecord } from '@commonplace/kit/store';
import { foldEmail } from '@commonplace/kit/words';
import { hashToken } from '../domain/invitation.js';
import { findAllWhere, findOne } from './all.js';

/** An open invitation. It is deleted when it is accepted, sent again or revoked. */
export interface Invitation extends StoredRecord {
  readonly tenant: string;
  /** SHA-256 of the token. The token itself is not stored. */
  readonly tokenHash: string;
  readonly orgId?: string;
  readonly workspaceId?: string;
  readonly orgMemberId?: string;
  readonly workspaceMemberId?: string;
  /** Id of the only person who may accept; absent if the invitation is not for one person. */
  readonly userId?: string;
  readonly email: string;
  /** Set if any holder of the token may accept; if absent, only an account of the address may. */
  readonly anyAccount?: true;
  readonly emailFold: string;
  /** Name of the person who invites; absent in records of earlier versions. */
  readonly inviterName?: string;
  /** The message that the inviter wrote. */
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
  /** Returns the invitation of a token; undefined if there is none or it has expired. */
  open(token: string, now: string): Promise<Invitation | undefined>;
  /** Returns the open invitations to an address, oldest first. */
  ofAddress(email: string, now: string): Promise<Invitation[]>;
  ofOrgMember(orgMemberId: string): Promise<Invitation[]>;
  ofWorkspaceMember(workspaceMemberId: string): Promise<Invitation[]>;
}

export function createInvitations(records: Collection<Invitation>): Invitations {
  return {
    records,
    async open(token, now) {
      const found = await findOne(records, { tokenHash: hashToken(token) });
      return found !== undefined && found.expiresAt > now ? found : undefined;
    },
    ofAddress: async (email, now) => {
      const found = await findAllWhere(records, { emailFold: foldEmail(email) });
      return found.filter(({ expiresAt }) => expiresAt > now);
    },
    ofOrgMember: (orgMemberId) => findAllWhere(records, { orgMemberId }),
    ofWorkspaceMember: (workspaceMemberId) => findAllWhere(records, { workspaceMemberId }),
  };
}
