import { createHash } from 'node:crypto';
import type { Fault } from '@commonplace/kit/errors';
import { countTurns } from '@commonplace/kit/testing';
import type { SkillInput } from '@commonplace/proto/agents/v1/skill_service.js';
import { expect, test } from '@jest/globals';
import { type GivenSkill, readSkills } from '../src/skills/read.js';

const ID = '0190cf5e-9f3c-7d60-8000-0123456789ab';
const LIMITS = { skillFiles: 20, skillBytes: 65_536, skillFileBytes: 1_048_576, skillFilesBytes: 8_388_608 };
const NO_SKILL = { files: [], allowedTools: [], metadata: Buffer.alloc(0) };

async function read(skills: readonly object[]): Promise<GivenSkill[]> {
  const faults: Fault[] = [];
  const reading = { agent: { tenant: 't', skills: [] }, limits: LIMITS, skillFiles: {} as never };
  const inputs = skills.map((one, i) => ({ ...NO_SKILL, name: `skill-${i}`, description: 'Does it', ...one }));
  const given = await readSkills(inputs as unknown as SkillInput[], reading, faults);
  expect(faults).toEqual([]);
  return given;
}

test('other requests run while a skill with large files is read', async () => {
  const files = Array.from({ length: 7 }, (_, i) => ({
    path: `f${i}.md`,
    content: 'A "quoted"\nword. '.repeat(60_000),
  }));
  expect(await countTurns(() => read([{ content: 'Do it.', files }]))).toBeGreaterThan(5);
});

test('a skill has the hash that it had when it was written at once', async () => {
  const content = `"Häuser" \\ \u2028 \ud800 😀 ${'x'.repeat(20_000)}`;
  const files = [
    { path: 'a "b".md', content: '😀'.repeat(150_000) },
    { path: 'live.md', resourceId: ID },
    { path: 'c.md', content: '' },
  ];
  const skills = await read([{ content, files }, { resourceId: ID }, { content: '' }]);
  const hashOf = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex');
  const own = [
    [files[0]?.path, files[0]?.content],
    ['c.md', ''],
  ];
  expect(skills.map(({ stored }) => stored?.hash)).toEqual([
    hashOf([content, null, own, [['live.md', ID]]]),
    hashOf(['', ID, [], []]),
    hashOf(['', null, [], []]),
  ]);
});
