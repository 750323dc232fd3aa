import { enumName } from '@commonplace/platform/enums';
import { ResourceType } from '@commonplace/proto/resources/v1/resource.js';
import { type SearchItem, SearchMode, SearchRequest } from '@commonplace/proto/search/v1/search_service.js';
import type { StoredCondition } from '../../definitions/records.js';
import { conditionsHold } from '../../domain/conditions.js';
import { timeRange } from '../../domain/times.js';
import { ActionError } from '../failure.js';
import { type Action, type ActionParts, type ActionResult, done, enumIn, given } from './action.js';

const DEFAULT_RESULTS = 10;
/** Maximum characters of a snippet. */
const MAX_SNIPPET_LENGTH = 500;

/** Searches the workspace with the rights of the run. */
export const search = ({ peers }: Pick<ActionParts, 'peers'>): Action => ({
  async run({ config, run, options }) {
    const types = (config.types as readonly string[] | undefined) ?? [];
    const request = SearchRequest.fromPartial({
      ...given(config, { query: 'query', parent_id: 'parentId', tag_ids: 'tagIds' }),
      mode: enumIn(SearchMode, config.mode),
      types: types.map((type) => enumIn(ResourceType, type) ?? unknownType(type)),
      workspaceIds: [run.workspaceId],
      page: { limit: Number(config.limit ?? DEFAULT_RESULTS), offset: 0, cursor: '' },
      highlight: true,
    });
    const { items, page } = await peers.search.search(request, await options());
    return done({ items: items.flatMap(foundItem), total: page?.total ?? items.length });
  },
});

function unknownType(type: string): never {
  throw new ActionError('invalid_value', `config.types: ${type} is not a resource type.`);
}

function foundItem({ resource, score, highlights, chunk }: SearchItem) {
  if (resource === undefined) return [];
  const { id, name, type, updatedAt } = resource;
  const snippet = (highlights[0]?.snippet ?? chunk?.text ?? '').slice(0, MAX_SNIPPET_LENGTH);
  const shown = enumName(type, 'RESOURCE_TYPE');
  return [{ id, name, type: shown, score, snippet, updated_at: updatedAt ?? null }];
}

/** Ends the run, or continues at another action, if the conditions do not hold. */
export const condition = (): Action => ({
  async run({ config, facts }) {
    return decide(conditionsHold(config.conditions as readonly StoredCondition[], facts), config.else);
  },
});

function decide(holds: boolean, otherwise: unknown): ActionResult {
  const output = { holds };
  if (holds) return done(output);
  const target = targetOf(otherwise);
  return target === undefined ? { kind: 'end', status: 'completed', output } : { kind: 'done', output, goTo: target };
}

/** Returns the id in `goto:<id>`; undefined for `stop`. */
export function targetOf(target: unknown): string | undefined {
  return typeof target === 'string' && target.startsWith('goto:') ? target.slice('goto:'.length) : undefined;
}

const MAX_DELAY_MS = 30 * 86_400_000;

/** Suspends the run for a time. */
export const delay = ({ now }: Pick<ActionParts, 'now'>): Action => ({
  async run({ config, step }) {
    const until = step.resumesAt === undefined ? endOfDelay(config, now()) : Date.parse(step.resumesAt);
    return until <= now() ? done({ resumed_at: new Date(until).toISOString() }) : { kind: 'delay', until };
  },
});

function endOfDelay({ seconds, until }: Readonly<Record<string, unknown>>, now: number): number {
  const end = typeof seconds === 'number' ? now + seconds * 1000 : (timeRange(until)?.from ?? Number.NaN);
  if (Number.isNaN(end)) throw new ActionError('invalid_type', 'config.until: must be an RFC 3339 time.');
  if (end - now > MAX_DELAY_MS) throw new ActionError('invalid_value', 'config: a delay lasts at most 30 days.');
  return end;
}

export const stop = (): Action => ({
  async run({ config }) {
    const message = typeof config.message === 'string' ? config.message : undefined;
    const status = config.status === 'failed' ? 'failed' : 'completed';
    return { kind: 'end', status, message, output: { status, message: message ?? null } };
  },
});
