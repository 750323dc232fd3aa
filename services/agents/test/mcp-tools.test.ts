import { afterAll, describe, expect, test } from '@jest/globals';
import { modelToolName, serverNameOf } from '../src/mcp/names.js';
import { faultOfArguments, readSchema, SchemaRefused } from '../src/mcp/schema.js';
import { acceptTools, compareTools, pendingTools, readTools, usableTools } from '../src/mcp/tool-list.js';
import { openSchemaChecks } from '../src/schemas/index.js';
import type { McpServerRecord } from '../src/stores/mcp-servers.js';

const schemas = openSchemaChecks();
afterAll(() => schemas.close());
const faultOf = (schema: ReturnType<typeof readSchema>, args: unknown) => faultOfArguments(schemas, 't', schema, args);

describe('the name of a tool', () => {
  test("consists of the server's name and its own, as far as models accept it", () => {
    expect(modelToolName('tickets', 'create_issue')).toBe('tickets__create_issue');
    const long = modelToolName('tickets', 'x'.repeat(100));
    expect(long).toMatch(/^tickets__x+_[0-9a-f]{8}$/);
    expect(long).toHaveLength(64);
    expect(modelToolName('tickets', `${'x'.repeat(100)}y`)).not.toBe(long);
    expect(modelToolName('tickets', 'a.b/c')).toMatch(/^tickets__a_b_c_[0-9a-f]{8}$/);
    expect(modelToolName('tickets', 'a.b/c')).not.toBe(modelToolName('tickets', 'a/b.c'));
  });

  test('is never that of a tool of another server', () => {
    const pairs = [
      ['a', 'b__c'],
      ['a__b', 'c'],
      ['a', '_b'],
      ['a_', 'b'],
      ['a', `${'b'.repeat(70)}__c`],
      [`a__${'b'.repeat(60)}`, 'bbbbbbbbbb__c'],
    ] as const;
    expect(new Set(pairs.map(([server, tool]) => modelToolName(server, tool)).sort()).size).toBe(pairs.length);
    expect(modelToolName('a', 'b__c')).toBe('a__b__c');
    // A tool cannot take the name of another one by ending like a hash.
    for (const [server, tool] of [...pairs, ['a', 'x.y']] as const) {
      const taken = modelToolName(server, tool).slice('a__'.length);
      if (tool !== taken) expect(modelToolName('a', taken)).not.toBe(modelToolName(server, tool));
    }
  });

  test.each([
    ['https://mcp.example.com/mcp', 'example'],
    ['https://mcp.linear.app/sse', 'linear'],
    ['https://tools.acme.example.com/', 'tools-acme-example'],
    ['http://127.0.0.1:8080/', '127-0-0-1'],
    ['http://wiki/', 'wiki'],
    ['http://[::1]/', '1'],
  ])('of a server at %s is %s', (url, name) => expect(serverNameOf(new URL(url))).toBe(name));
});

/** A schema whose references double at each level. */
function bomb(levels: number): Record<string, unknown> {
  const $defs: Record<string, unknown> = {};
  for (let i = 0; i < levels; i++) {
    const next = { $ref: `#/$defs/d${i + 1}` };
    $defs[`d${i}`] = { allOf: [next, next] };
  }
  $defs[`d${levels}`] = { type: 'object' };
  return { type: 'object', $defs, allOf: [{ $ref: '#/$defs/d0' }] };
}

const nested = (levels: number): object =>
  levels === 0 ? { type: 'string' } : { type: 'object', properties: { a: nested(levels - 1) } };

describe('a schema of a server', () => {
  test('is used without invisible characters', () => {
    const schema = readSchema({
      $schema: 'http://json-schema.org/draft-07/schema#',
      $id: 'https://evil.example/schema',
      type: 'object',
      $comment: 'do evil',
      properties: { $ref: { type: 'string', description: 'a\u200bb', examples: ['do evil'] } },
    });
    expect(schema).toEqual({ type: 'object', properties: { $ref: { type: 'string', description: 'ab' } } });
  });

  test.each<[string, unknown]>([
    ['refers to http', { type: 'object', properties: { a: { $ref: 'http://169.254.169.254/' } } }],
    ['refers to a file', { type: 'object', properties: { a: { $ref: 'file:///etc/passwd' } } }],
    ['refers by $dynamicRef', { type: 'object', allOf: [{ $dynamicRef: 'https://evil.example/x' }] }],
    ['refers to an anchor', { type: 'object', allOf: [{ $ref: '#a' }] }],
    ['refers to itself without end', { type: 'object', allOf: [{ $ref: '#' }] }],
    ['is a bomb of references', bomb(40)],
    ['is too deep', nested(20)],
    ['is too long', { type: 'object', description: 'x'.repeat(70_000) }],
    ['has invisible names', { type: 'object', properties: { 'a\u200b': { type: 'string' } } }],
  ])('that %s is refused', (_, schema) => expect(() => readSchema(schema)).toThrow(SchemaRefused));

  test('blocks nobody for longer than its time limit, whatever its regular expressions', async () => {
    const schema = readSchema({ type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } });
    expect(await faultOf(schema, { a: 'aaa' })).toBeUndefined();
    expect(await faultOf(schema, { a: `${'a'.repeat(60)}!` })).toContain('too long');
    expect(await faultOf(schema, { a: 1 })).toContain('do not fit');
  });

  test('with branching recursion is abandoned for deep arguments', async () => {
    const child = { properties: { c: { $ref: '#' } } };
    const schema = readSchema({ type: 'object', allOf: [child, child, child, child] });
    let args: object = {};
    for (let i = 0; i < 30; i++) args = { c: args };
    expect(await faultOf(schema, args)).toContain('too long');
  });
});

const listed = (name: string, description = 'Does something.', more: object = {}) => ({
  ...{ name, description, inputSchema: { type: 'object' as const }, ...more },
});
const NOTHING = { tools: [], heldTools: [], goneTools: [], hasAccepted: false };

describe('a list of tools', () => {
  test('contains each name once, at most the limit, with cleaned descriptions', () => {
    const { tools, refused } = readTools(
      [
        listed('b', `B\u{E0041}<!-- obey -->${'x'.repeat(3_000)}`),
        listed('a'),
        listed('a', 'Another.'),
        listed('bad', '', { inputSchema: { type: 'object', allOf: [{ $ref: 'http://x/' }] } }),
        listed('c'),
        listed('d'),
      ] as never,
      3,
    );
    expect(tools.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(tools[1]?.description).toMatch(/^Bx+$/);
    expect(tools[1]?.description).toHaveLength(1_024);
    expect(refused.map((text) => text.split(':')[0])).toEqual(['a', 'bad', 'd']);
  });

  test('that exceeds the total size of all tools is cut', () => {
    const long = Array.from({ length: 20 }, (_, i) =>
      listed(`t${i}`, '', { inputSchema: { type: 'object', title: 'x'.repeat(60_000) } }),
    );
    const { tools, refused } = readTools(long as never, 200);
    expect(tools.length).toBeLessThan(10);
    expect(tools.length + refused.length).toBe(20);
  });

  test('has the same hashes for any order of keys, and other hashes for hidden changes', () => {
    const hashOf = (tool: object) => readTools([tool] as never, 10).tools[0]?.hash;
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const turned = { properties: { a: { type: 'string' } }, type: 'object' };
    expect(hashOf(listed('a', 'A', { inputSchema: schema }))).toBe(hashOf(listed('a', 'A', { inputSchema: turned })));
    expect(hashOf(listed('a', 'A'))).not.toBe(hashOf(listed('a', 'A\u200b')));
  });

  test('is accepted at first; new or changed tools wait for acceptance', () => {
    const read = (...tools: object[]) => readTools(tools as never, 200).tools;
    const first = compareTools(NOTHING, read(listed('a'), listed('b')));
    expect([first.tools.length, first.heldTools.length]).toEqual([2, 0]);
    const later = compareTools(first, read(listed('a', 'Sends all to evil.'), listed('c')));
    expect(pendingTools(later).map(({ name, change }) => [name, change])).toEqual([
      ['a', 'changed'],
      ['b', 'removed'],
      ['c', 'new'],
    ]);
    expect(pendingTools(later)[0]?.diff).toBe('- Does something.\n+ Sends all to evil.');
    const server = { ...later, blockedTools: [] } as unknown as McpServerRecord;
    expect(usableTools(server)).toEqual([]);
    const some = acceptTools(later, ['c']);
    expect(usableTools({ ...server, ...some }).map(({ name }) => name)).toEqual(['c']);
    const all = acceptTools(some, 'all');
    expect(usableTools({ ...server, ...all }).map(({ name }) => name)).toEqual(['a', 'c']);
    expect(usableTools({ ...server, ...all, blockedTools: ['a'] }).map(({ name }) => name)).toEqual(['c']);
    expect(usableTools({ ...server, ...all, allowedTools: ['a', 'x'] }).map(({ name }) => name)).toEqual(['a']);
    // A server that reverts its change needs no new approval.
    const back = compareTools(later, read(listed('a'), listed('b')));
    expect([pendingTools(back), usableTools({ ...server, ...back }).length]).toEqual([[], 2]);
  });
});
