import type { Caller } from '@commonplace/kit/auth';
import { effort } from '@commonplace/kit/testing';
import { PublicationMode, PublicationVisibility } from '@commonplace/proto/resources/v1/publication.js';
import { ReaderFormat } from '@commonplace/proto/resources/v1/reader_service.js';
import { AccessMode, ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { OrgRole, WorkspaceRole } from '@commonplace/proto/tenancy/v1/role.js';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { HOST, openPublishingStage, type PublishingStage } from './publishing-stage.js';
import type { PlayedWorkspace } from './tenancy.js';

const RUNS = effort(5);

let s: PublishingStage;
let boss: Caller;
let org: ReturnType<PublishingStage['tenancy']['org']>;

beforeAll(async () => {
  s = await openPublishingStage();
  org = s.tenancy.org();
  boss = s.tenancy.person('Boss');
  org.roles.set(boss.userId, OrgRole.MEMBER);
});
afterAll(() => s.stage.close());

/** A node in the model: enough to decide who sees it. */
interface Known {
  readonly id: string;
  /** Occurs in no other node, and in nothing that the service adds itself. */
  readonly word: string;
  parent: number | undefined;
  restricted: boolean;
  trashed: boolean;
}

type Step =
  | { readonly do: 'create'; readonly under: number }
  | { readonly do: 'restrict'; readonly node: number }
  | { readonly do: 'trash'; readonly node: number }
  | { readonly do: 'restore'; readonly node: number }
  | { readonly do: 'publish'; readonly node: number }
  | { readonly do: 'move'; readonly node: number; readonly under: number };

const index = fc.nat({ max: 15 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), under: index }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('restrict' as const, 'trash' as const, 'restore' as const),
      node: index,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('move' as const), node: index, under: index }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('publish' as const), node: index }) },
);

const chain = (nodes: readonly Known[], at: number): number[] => {
  const path = [at];
  for (let up = nodes[at]?.parent; up !== undefined; up = nodes[up]?.parent) path.push(up);
  return path;
};

/** Returns the ids of the nodes that a live publication of the head, which is the first node, shows. */
function shownBy(nodes: readonly Known[]): Set<string> {
  const ids = nodes.flatMap(({ id }, at) => {
    const path = chain(nodes, at);
    const below = path.slice(0, path.indexOf(0) + 1);
    if (!path.includes(0) || path.some((one) => nodes[one]?.trashed)) return [];
    return below.slice(0, -1).some((one) => nodes[one]?.restricted) ? [] : [id];
  });
  return new Set(ids);
}

test('readers see exactly the unrestricted items below the published one, and no word of any other', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 18 }), fc.boolean(), async (steps, pinned) => {
      const workspace = s.tenancy.workspace(org);
      workspace.roles.set(boss.userId, WorkspaceRole.OWNER);
      await s.tell('workspace_member.added');
      await run(workspace, steps, pinned);
    }),
    { numRuns: RUNS },
  );
}, 300_000);

async function run(workspace: PlayedWorkspace, steps: readonly Step[], pinned: boolean): Promise<void> {
  const nodes: Known[] = [];
  const slug = `p-${workspace.id.slice(-12)}`;
  const mode = pinned ? PublicationMode.PINNED : PublicationMode.LIVE;
  /** For a pinned publication, the pages when it was last published. */
  let kept = new Map<string, readonly string[]>();
  const publish = async () => {
    const fields = { slug, mode, visibility: PublicationVisibility.PUBLIC, allowIndexing: true };
    await s.publish(boss, (nodes[0] as Known).id, fields);
    kept = pinnedOf(nodes);
  };
  for (let i = 0; i < 4; i += 1) await create(nodes, workspace, i === 0 ? undefined : i - 1);
  await publish();
  for (const one of steps) {
    if (one.do === 'publish') {
      if (!(nodes[0] as Known).trashed) await publish();
    } else await take(nodes, workspace, one);
    const live = shownBy(nodes);
    const expected = pinned
      ? new Set([...live].filter((id) => kept.get(id)?.every((up) => live.has(up)) ?? false))
      : live;
    await holdAgainst(slug, nodes, expected);
  }
}

/** Returns the shown pages by id with their ancestors: a pinned page is shown while all of its ancestors are. */
function pinnedOf(nodes: readonly Known[]): Map<string, readonly string[]> {
  const shown = shownBy(nodes);
  const pages = nodes.flatMap(({ id }, at): [string, string[]][] => {
    const path = chain(nodes, at);
    const above = path.slice(1, path.indexOf(0) + 1).map((one) => (nodes[one] as Known).id);
    return shown.has(id) ? [[id, above]] : [];
  });
  return new Map(pages);
}

async function create(nodes: Known[], workspace: PlayedWorkspace, under: number | undefined): Promise<void> {
  const parent = under === undefined ? undefined : nodes[under];
  const word = `word${workspace.id.slice(-8).replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)] as string)}x${nodes.length}x`;
  // Each page links to all others, as hidden pages must not show through links either.
  const links = nodes.map(({ id }) => `[to](resource:${id}) [[resource:${id}]] ![](resource:${id})`).join(' ');
  const { id } = await s.create(boss, {
    type: ResourceType.DOCUMENT,
    name: `Page ${word}`,
    content: Buffer.from(JSON.stringify(`Text ${word}\n\n${links}`)),
    ...(parent === undefined ? { workspaceId: workspace.id } : { parentId: parent.id }),
  });
  nodes.push({ id, word, parent: under, restricted: false, trashed: false });
}

async function take(nodes: Known[], workspace: PlayedWorkspace, step: Exclude<Step, { do: 'publish' }>): Promise<void> {
  const isDead = (at: number) => chain(nodes, at).some((one) => nodes[one]?.trashed);
  if (step.do === 'create') {
    const under = step.under % nodes.length;
    if (!isDead(under)) await create(nodes, workspace, under);
    return;
  }
  // The steps below never apply to the head itself.
  const at = 1 + (step.node % (nodes.length - 1));
  const node = nodes[at] as Known;
  if (step.do === 'restore') {
    const parentDead = node.parent !== undefined && isDead(node.parent);
    if (!node.trashed || parentDead) return;
    await s.trash.restoreResource({ resourceId: node.id, parentId: undefined }, await s.stage.as(boss));
    node.trashed = false;
    return;
  }
  if (isDead(at)) return;
  if (step.do === 'restrict') {
    node.restricted = !node.restricted;
    const accessMode = node.restricted ? AccessMode.RESTRICTED : AccessMode.INHERIT;
    await s.update(boss, node.id, { updateMask: ['access_mode'], accessMode });
  } else if (step.do === 'trash') {
    await s.resources.deleteResource({ resourceId: node.id }, await s.stage.as(boss));
    node.trashed = true;
  } else {
    const under = step.under % (nodes.length + 1);
    const parent = nodes[under];
    if (parent !== undefined && (isDead(under) || chain(nodes, under).includes(at))) return;
    await s.update(boss, node.id, { updateMask: ['parent_id'], parentId: parent?.id });
    node.parent = parent === undefined ? undefined : under;
  }
}

async function holdAgainst(slug: string, nodes: readonly Known[], expected: ReadonlySet<string>): Promise<void> {
  const home = await s.page(slug);
  expect(new Set(home.tree.map(({ id }) => id))).toEqual(expected);
  const hidden = nodes.filter(({ id }) => !expected.has(id));
  const responses: string[] = [];
  for (const entry of home.tree) {
    const path = entry.path.slice(`/p/${slug}/`.length);
    responses.push(JSON.stringify(await s.read(slug, { path })));
    responses.push(JSON.stringify(await s.read(slug, { path, format: ReaderFormat.MARKDOWN })));
  }
  const as = await s.stage.as(undefined);
  const address = { host: HOST, slug, proof: undefined };
  responses.push(
    JSON.stringify(await s.reader.searchPublication({ address, query: 'word', limit: 50, offset: 0 }, as)),
  );
  const indexed = await s.reader.listIndexed({ host: HOST, cursor: '', limit: 0 }, as);
  responses.push(JSON.stringify(indexed.items.filter(({ path }) => path.startsWith(`/p/${slug}`))));
  for (const { id, word } of hidden) {
    for (const text of responses) for (const secret of [word, id]) expect(text).not.toContain(secret);
    expect((await s.read(slug, { path: id })).missing).toBeDefined();
    const { pages } = await s.reader.searchPublication({ address, query: word, limit: 50, offset: 0 }, as);
    expect(pages?.items).toEqual([]);
  }
}
