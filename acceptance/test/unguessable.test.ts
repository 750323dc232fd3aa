import { expect, test } from '@jest/globals';
import type { FormAnswer } from '../src/forms.js';
import { newAddress, newKey, signIn, tokenOf } from '../src/people.js';
import type { Member, Org, Resource, Workspace } from '../src/records.js';
import { standingSystem } from '../src/standing.js';

/** Tests that secrets cannot be guessed: their random part has at least 128 bits. */

const BITS = 128;
const BASE62 = '[0-9A-Za-z]';
const BASE64 = '[0-9A-Za-z_+/-]';
const SIZES: Readonly<Record<string, number>> = { [BASE62]: 62, [BASE64]: 64 };

/** A kind of secret: its prefix, and the alphabet of its random part. */
const KINDS = {
  'a session': ['', BASE64],
  'the token against forged requests': ['', BASE64],
  'an API key': [`wsk_p_${BASE62}{12}_`, BASE62],
  'an invitation': ['', BASE64],
  'a share link': ['', BASE64],
  'the address of a form': ['', BASE64],
  'the address of a webhook': ['', BASE64],
} as const;

test('each secret has at least 128 random bits and is unique', async () => {
  const system = await standingSystem();
  const made = new Map<keyof typeof KINDS, string[]>();
  const note = (kind: keyof typeof KINDS, value: string | null | undefined) =>
    made.set(kind, [...(made.get(kind) ?? []), value ?? '']);
  for (let times = 0; times < 2; times++) {
    const owner = await signIn(system, system.owner);
    note('a session', decodeURIComponent(owner.session.cookie.slice(owner.session.cookie.indexOf('=') + 1)));
    note('the token against forged requests', owner.session.csrf);
    note('an API key', (await newKey(owner, ['org:read'])).key);
    const { data: org } = await owner.post<Org>('/orgs', { name: 'Secrets' });
    const invited = await owner.post<Member>(`/orgs/${org.id}/members`, { email: newAddress('s'), role: 'member' });
    note('an invitation', tokenOf(invited.data.invite_url));
    const place = { workspace_id: (await owner.post<Workspace>('/workspaces', { name: 'S', org_id: org.id })).data.id };
    const { data: page } = await owner.post<Resource>('/resources', { type: 'document', name: 'D', ...place });
    const link = { principal_type: 'link', role: 'viewer', audience: 'anyone' };
    const shared = await owner.post<{ link: { token: string } }>(`/resources/${page.id}/permissions`, link);
    note('a share link', shared.data.link.token);
    const { data: table } = await owner.post<Resource>('/resources', { type: 'table', name: 'T', ...place });
    const config = { title: 'F', fields: [{ id: 'name', type: 'short_text', label: 'Name' }] };
    const { form } = (await owner.post<FormAnswer>(`/resources/${table.id}/form`, { config })).data;
    note('the address of a form', form.token);
    note('the address of a webhook', form.webhook_token);
  }
  for (const [kind, [before, alphabet]] of Object.entries(KINDS)) {
    const values = made.get(kind as keyof typeof KINDS) ?? [];
    expect([kind, new Set(values).size]).toEqual([kind, 2]);
    for (const value of values) {
      const random = new RegExp(`^${before}(${alphabet}+)$`).exec(value)?.[1] ?? '';
      const bits = random.length * Math.log2(SIZES[alphabet] as number);
      expect([kind, value.length, bits >= BITS]).toEqual([kind, value.length, true]);
    }
  }
});
