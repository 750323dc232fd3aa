import { afterEach, describe, expect, test } from '@jest/globals';
import { derivation } from '../../src/documents/kind/derivation.js';
import { createDerivedForms } from '../../src/documents/kind/derived.js';
import type { Deriver } from '../../src/documents/kind/deriver.js';
import type { DocumentFormat, StoredContent } from '../../src/documents/kind/records.js';
import type { Node } from '../../src/domain/node.js';

/** Names of the derivations that ran in a thread. */
let derivations: string[] = [];
afterEach(() => {
  derivations = [];
});
const deriver = {
  run: async (_who: unknown, _bytes: number, name: keyof typeof derivation, ...args: never[]) => {
    derivations.push(name);
    return (derivation[name] as (...given: never[]) => unknown)(...args);
  },
} as unknown as Deriver;

const record = (format: DocumentFormat, text: string) =>
  ({ id: 'a', version: 1, tenant: 't', format, text }) as unknown as StoredContent;
const nodeOf = (text: string, version = 1) =>
  ({ id: 'a', version, contentVersion: 1, updatedAt: '', sizeBytes: Buffer.byteLength(text) }) as unknown as Node;
const read = async (format: DocumentFormat, text: string, forms = createDerivedForms(deriver)) =>
  forms.read(nodeOf(text), record(format, text), format, [], Date.now() + 10_000);

/** Counts the turns of the event loop during some work. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let [turns, isOver] = [0, false];
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

const LARGE = 'Häuser und 😀 "Bäume"\n\n'.repeat(150_000);

describe('a document that is read in its own format', () => {
  test.each(['markdown', 'text'] as const)('%s, yields to other work if it is large', async (format) => {
    const payload = await read(format, LARGE);
    expect(JSON.parse(payload.content?.toString() ?? '')).toBe(LARGE);
    expect(payload.wordCount).toBe(4 * 150_000);
    expect(await turnsDuring(() => read(format, LARGE))).toBeGreaterThan(3);
    expect(derivations).toEqual([]);
  });

  test('is the same in slices as at once', async () => {
    const text = `${'a'.repeat(128 * 1024 - 1)}😀${'😀'.repeat(70_000)} \ud800 "\\" \u2028`;
    expect((await read('markdown', text)).content?.toString()).toBe(JSON.stringify(text));
  });

  test.each(['json', 'html'] as const)('%s, is parsed in a thread if it is large', async (format) => {
    const paragraph = { type: 'paragraph', content: [{ type: 'text', text: 'one two' }] };
    const text =
      format === 'html'
        ? '<p>one two</p>'.repeat(2000)
        : JSON.stringify({ type: 'doc', content: Array.from({ length: 2000 }, () => paragraph) });
    expect((await read(format, text)).wordCount).toBe(4000);
    expect(derivations).toEqual(['payload']);
  });

  test('is read at once if it is small', async () => {
    expect((await read('markdown', '# One two')).wordCount).toBe(3);
    expect(derivations).toEqual([]);
  });
});

describe('a document that was read before', () => {
  test.each([
    ['a page', 'One two'],
    ['a large document', LARGE],
  ])('is cached by the version of its node: %s', async (_, text) => {
    const forms = createDerivedForms(deriver);
    expect(forms.known(nodeOf(text), 'markdown')).toBeUndefined();
    const payload = await read('markdown', text, forms);
    expect(forms.known(nodeOf(text), 'markdown')).toEqual(payload);
    expect(forms.known(nodeOf(text, 2), 'markdown')).toBeUndefined();
    expect(forms.known(nodeOf(text), 'html')).toBeUndefined();
  });

  test('keeps no memory of other buffers in the cache', async () => {
    const forms = createDerivedForms(deriver);
    await read('markdown', 'One two', forms);
    const kept = forms.known(nodeOf('One two'), 'markdown')?.content;
    expect(kept?.buffer.byteLength).toBe(kept?.length);
  });

  test.each([
    ['a page', 'One two'],
    ['a large document', LARGE],
  ])('is not cached if it names a resource that some readers may not know of: %s', async (_, before) => {
    const text = `${before}[a](resource:0190cf5e-9f3c-7d60-8000-0123456789ab)`;
    const forms = createDerivedForms(deriver);
    await read('markdown', text, forms);
    expect(forms.known(nodeOf(text), 'markdown')).toBeUndefined();
  });
});

describe('a document that several read at once in another format', () => {
  const asHtml = (text: string, forms: ReturnType<typeof createDerivedForms>, version = 1) =>
    forms.read(nodeOf(text, version), record('markdown', text), 'html', [], Date.now() + 10_000);

  test.each([
    ['names no resource', 'One two'],
    ['names a resource', '[a](resource:0190cf5e-9f3c-7d60-8000-0123456789ab)'],
  ])('is derived once if it %s', async (_, text) => {
    const forms = createDerivedForms(deriver);
    const [first, second] = await Promise.all([asHtml(text, forms), asHtml(text, forms)]);
    expect(second).toBe(first);
    expect(derivations).toEqual(['payload']);
  });

  test('is derived again for another version, and after a failure', async () => {
    const forms = createDerivedForms(deriver);
    await Promise.all([asHtml('One', forms), asHtml('One', forms, 2)]);
    expect(derivations).toHaveLength(2);
    let failures = 1;
    const run: Deriver['run'] = (...given) =>
      failures-- > 0 ? Promise.reject(new Error('too late')) : deriver.run(...given);
    const failing = createDerivedForms({ ...deriver, run });
    const all = await Promise.allSettled([asHtml('Two', failing), asHtml('Two', failing), asHtml('Two', failing)]);
    expect(all.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(derivations).toHaveLength(3);
  });
});
