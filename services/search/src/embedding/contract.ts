import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Embedder, EmbedderFailure } from './port.js';

/** Holds what the suite needs of an adapter. */
interface Subject {
  /** Opens a new embedder of the same model each time. */
  open(): Promise<Embedder> | Embedder;
}

const TEXTS = ['The cat sleeps on the sofa.', 'Expenses are paid within a month.', 'wing in a slipstream'];
const ODD = [
  '',
  ' \n ',
  '\0',
  'a\0b',
  '\ud800',
  'x\udc00y',
  '🎉',
  '深度学习模型',
  'word '.repeat(20_000),
  'x'.repeat(50_000),
];
const MILLISECONDS = 60_000;

/** Tests an adapter against each duty of the port. */
export function embedderContract(name: string, { open }: Subject): void {
  describe(`${name} fulfils the contract of an embedder`, () => {
    let embedder: Embedder;

    beforeAll(async () => {
      embedder = await open();
    });

    afterAll(() => embedder.close());

    test(
      'returns one normalized vector for each text, with the dimensions of the model',
      async () => {
        const vectors = await embedder.embed(TEXTS, 'document');
        expect(vectors).toHaveLength(TEXTS.length);
        for (const vector of vectors) {
          expect(Object.prototype.toString.call(vector)).toBe('[object Float32Array]');
          expect(vector).toHaveLength(embedder.model.dimensions);
          expect(dot(vector, vector)).toBeCloseTo(1, 4);
        }
        expect(dot(vectors[0] as Float32Array, vectors[1] as Float32Array)).toBeLessThan(0.9);
        expect(await embedder.embed([], 'document')).toEqual([]);
      },
      MILLISECONDS,
    );

    test(
      'returns the same vector for the same text, alone, among others and in any order',
      async () => {
        const together = await embedder.embed([...TEXTS, 'word '.repeat(300)], 'document');
        const reversed = (await embedder.embed([...TEXTS].reverse(), 'document')).reverse();
        for (const [i, text] of TEXTS.entries()) {
          const [alone] = await embedder.embed([text], 'document');
          expect(dot(alone as Float32Array, together[i] as Float32Array)).toBeCloseTo(1, 5);
          expect(dot(alone as Float32Array, reversed[i] as Float32Array)).toBeCloseTo(1, 5);
        }
      },
      MILLISECONDS,
    );

    test(
      'returns more texts than fit into one batch in order',
      async () => {
        const many = Array.from({ length: 150 }, (_, i) => `number ${i}`);
        const vectors = await embedder.embed(many, 'document');
        const [some] = await embedder.embed(['number 133'], 'document');
        expect(vectors).toHaveLength(150);
        expect(dot(some as Float32Array, vectors[133] as Float32Array)).toBeCloseTo(1, 5);
      },
      MILLISECONDS,
    );

    test(
      'accepts any text',
      async () => {
        const vectors = await embedder.embed(ODD, 'document');
        for (const vector of [...vectors, ...(await embedder.embed(ODD.slice(0, 4), 'query'))]) {
          expect(dot(vector, vector)).toBeCloseTo(1, 4);
        }
      },
      MILLISECONDS,
    );

    test(
      'embeds a query before waiting documents',
      async () => {
        const order: string[] = [];
        const many = Array.from({ length: 300 }, (_, i) => `document ${i}`);
        await embedder.embed(['warm'], 'query');
        await Promise.all([
          embedder.embed(many, 'document').then(() => order.push('documents')),
          embedder.embed(['a query'], 'query').then(() => order.push('query')),
        ]);
        expect(order).toEqual(['query', 'documents']);
      },
      MILLISECONDS,
    );

    test(
      'aborts a call with the reason of its signal, and continues to serve',
      async () => {
        const reason = new Error('the caller has given up');
        await expect(embedder.embed(TEXTS, 'document', AbortSignal.abort(reason))).rejects.toBe(reason);
        const stop = new AbortController();
        const call = embedder.embed(
          Array.from({ length: 500 }, (_, i) => `text ${i}`),
          'document',
          stop.signal,
        );
        setTimeout(() => stop.abort(reason), 5);
        await expect(call).rejects.toBe(reason);
        expect(await embedder.embed(TEXTS, 'document')).toHaveLength(TEXTS.length);
      },
      MILLISECONDS,
    );

    test(
      'rejects running and further calls when closed',
      async () => {
        const closing = await open();
        const running = closing.embed(
          Array.from({ length: 500 }, (_, i) => `text ${i}`),
          'document',
        );
        running.catch(() => undefined);
        await closing.close();
        await expect(running).rejects.toBeInstanceOf(EmbedderFailure);
        await expect(closing.embed(TEXTS, 'query')).rejects.toBeInstanceOf(EmbedderFailure);
        await closing.close();
      },
      MILLISECONDS,
    );
  });
}

export function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
}
