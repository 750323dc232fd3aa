import { describe, expect, test } from '@jest/globals';
import { type Decision, decideCall, hashPolicies, type Policies, termsOf } from '../src/approvals/policy.js';
import { hashJson } from '../src/domain/hash-json.js';
import { NO_PREVIEW, type ToolAction, type ToolPlan } from '../src/engine/tools/tool.js';
import { type ApprovalPolicy, type ApprovalRule, DEFAULT_POLICY } from '../src/stores/agents.js';

const plan = (more: Partial<ToolPlan> = {}): ToolPlan => ({
  ...{
    action: 'write',
    effect: 'idempotent',
    risk: 'low',
    isSink: false,
    title: '',
    preview: NO_PREVIEW,
    toolHash: 'h',
  },
  ...more,
});
const mode = (name: ApprovalPolicy['mode'], ...rules: Partial<ApprovalRule>[]): ApprovalPolicy => ({
  ...DEFAULT_POLICY,
  mode: name,
  rules: rules.map((rule) => ({ decision: 'allow', evenIfTainted: false, ...rule })),
});
const decide = (policies: Policies, more: Partial<ToolPlan> = {}, isTainted = false): Decision =>
  decideCall('tool', plan(more), policies, isTainted).decision;

const reading = { action: 'read', effect: 'none' } as const;
const server = { serverId: 'id', serverName: 'shop' };

describe('a policy', () => {
  test.each<[ApprovalPolicy['mode'], Partial<ToolPlan>, Decision]>([
    ['never', { action: 'delete' }, 'allow'],
    ['never', { ...server, effect: 'once' }, 'allow'],
    ['risky', reading, 'allow'],
    ['risky', { action: 'write' }, 'allow'],
    ['risky', { action: 'create' }, 'allow'],
    ['risky', { action: 'fetch' }, 'allow'],
    ['risky', { action: 'delete' }, 'ask'],
    ['risky', { action: 'share' }, 'ask'],
    ['risky', { action: 'publish' }, 'ask'],
    ['risky', { action: 'send' }, 'ask'],
    ['risky', { action: 'spend' }, 'ask'],
    ['risky', { ...reading, ...server }, 'allow'],
    ['risky', { ...server, action: 'read', effect: 'idempotent' }, 'ask'],
    ['always', reading, 'allow'],
    ['always', { action: 'comment' }, 'ask'],
    ['always', { action: 'fetch', effect: 'none' }, 'ask'],
    ['always', { ...server, action: 'read', effect: 'once' }, 'ask'],
  ])('%s of %j: %s', (name, call, expected) => {
    expect(decide({ current: mode(name) }, call)).toBe(expected);
  });

  test('of rules uses the first rule that matches in all its fields, and otherwise asks for what is risky', () => {
    const current = mode(
      'custom',
      { tool: 'other', decision: 'deny' },
      { server: 'shop', action: 'read', decision: 'allow' },
      { server: 'shop', decision: 'deny' },
      { action: 'write', decision: 'ask' },
    );
    expect(decide({ current }, { ...server, action: 'read', effect: 'once' })).toBe('allow');
    expect(decide({ current }, { ...server, action: 'send' })).toBe('deny');
    expect(decide({ current }, { action: 'write' })).toBe('ask');
    expect(decide({ current }, { action: 'delete' })).toBe('ask');
    expect(decide({ current }, { action: 'create' })).toBe('allow');
    expect(decideCall('other', plan(reading), { current }, false).decision).toBe('deny');
    // A built-in tool is of no server, whatever its name looks like.
    expect(decide({ current: mode('custom', { server: 'shop', decision: 'deny' }) }, reading)).toBe('allow');
  });

  test('combined with others: the strictest one applies', () => {
    expect(decide({ current: mode('never'), minimum: 'always' })).toBe('ask');
    expect(decide({ current: mode('never'), pinned: mode('always') })).toBe('ask');
    expect(decide({ current: mode('always'), pinned: mode('never') })).toBe('ask');
    expect(decide({ current: mode('never'), request: mode('always') })).toBe('ask');
    expect(decide({ current: mode('always'), request: mode('never') })).toBe('ask');
    expect(decide({ current: mode('never') }, { ownRule: 'ask' })).toBe('ask');
    expect(decide({ current: mode('always') }, { ownRule: 'allow' })).toBe('ask');
    expect(decide({}, { action: 'delete' })).toBe('ask');
  });
});

describe('untrusted content', () => {
  const sink = { isSink: true };
  test('requires approval for sinks, unless a rule of the owner lifts it', () => {
    expect(decide({ current: mode('never') }, sink, true)).toBe('ask');
    expect(decide({ current: mode('never') }, {}, true)).toBe('allow');
    expect(decide({ current: mode('custom', { decision: 'allow' }) }, sink, true)).toBe('ask');
    const lifting = mode('custom', { decision: 'allow', evenIfTainted: true });
    expect(decide({ current: lifting }, sink, true)).toBe('allow');
    expect(decide({ current: lifting, pinned: mode('never') }, sink, true)).toBe('ask');
    expect(decide({ current: mode('never'), request: lifting }, sink, true)).toBe('ask');
    expect(decide({ current: lifting, minimum: 'always' }, sink, true)).toBe('ask');
    expect(decide({ current: { ...lifting, mode: 'never' } }, sink, true)).toBe('ask');
  });
});

/** Numbers that are the same in each run (mulberry32). */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

test('additional policies never relax a decision', () => {
  const below = numbers(7);
  const oneOf = <T>(...values: readonly T[]): T => values[below(values.length)] as T;
  const actions: ToolAction[] = [
    'read',
    'create',
    'write',
    'comment',
    'delete',
    'share',
    'publish',
    'send',
    'fetch',
    'spend',
  ];
  const anyRule = (): Partial<ApprovalRule> => ({
    tool: oneOf(undefined, undefined, 'tool', 'other'),
    server: oneOf(undefined, undefined, 'shop'),
    action: oneOf(undefined, undefined, ...actions),
    decision: oneOf<Decision>('allow', 'ask', 'deny'),
    evenIfTainted: below(2) === 0,
  });
  const anyPolicy = () =>
    mode(
      oneOf<ApprovalPolicy['mode']>('never', 'risky', 'always', 'custom'),
      ...Array.from({ length: below(4) }, anyRule),
    );
  const rank: Record<Decision, number> = { allow: 0, ask: 1, deny: 2 };
  for (let i = 0; i < 2_000; i++) {
    const call: Partial<ToolPlan> = {
      ...{ action: oneOf(...actions), effect: oneOf('none', 'idempotent', 'once'), isSink: below(2) === 0 },
      ...(below(2) === 0 ? server : {}),
    };
    const isTainted = below(2) === 0;
    const base: Policies = { current: anyPolicy(), ...(below(2) === 0 && { request: anyPolicy() }) };
    const least = rank[decide(base, call, isTainted)];
    const added = [
      decide({ ...base, pinned: anyPolicy() }, call, isTainted),
      decide({ ...base, minimum: oneOf('risky', 'always') }, call, isTainted),
      decide({ request: anyPolicy(), ...base }, call, isTainted),
      decide(base, { ...call, ownRule: oneOf('allow', 'ask') }, isTainted),
      decide(base, call, true),
    ];
    for (const decision of added) expect(rank[decision]).toBeGreaterThanOrEqual(least);
  }
});

test('merging policies keeps the strictest of each term', () => {
  const current: ApprovalPolicy = { ...DEFAULT_POLICY, approvers: 'owner', timeoutSeconds: 500, fourEyes: true };
  const request: ApprovalPolicy = { ...DEFAULT_POLICY, timeoutSeconds: 100, onTimeout: 'fail_run' };
  expect(termsOf({ current, request })).toEqual({
    ...{ approvers: 'owner', alsoAmong: 'initiator', fourEyes: true, timeoutSeconds: 100, onTimeout: 'fail_run' },
  });
});

test('hashes depend on the values, and not on the order of names', () => {
  expect(hashJson({ a: 1, b: [{ c: 2, d: 3 }] })).toBe(hashJson({ b: [{ d: 3, c: 2 }], a: 1 }));
  expect(hashJson({ a: [1, 2] })).not.toBe(hashJson({ a: [2, 1] }));
  const before = hashPolicies({ current: mode('risky') });
  expect(hashPolicies({ current: mode('always') })).not.toBe(before);
  expect(hashPolicies({ current: mode('risky'), minimum: 'risky' })).not.toBe(before);
  expect(hashPolicies({ current: { ...DEFAULT_POLICY, fourEyes: true } })).not.toBe(before);
  expect(hashPolicies({ current: { ...DEFAULT_POLICY, timeoutSeconds: 60 } })).toBe(before);
});
