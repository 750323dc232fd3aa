import type { Connection } from '@commonplace/kit/store/sqlite';

/**
 * The engine tells no frequencies, but weighs rows by BM25 with these constants
 * (https://www.sqlite.org/fts5.html#the_bm25_function), over all that its table holds or ever held: how often a row has
 * a term is told from that.
 */
const ENGINE = { k1: 1.2, b: 0.75, leastRarity: 1e-6 };

/** What the engine takes for the size of its table. */
export interface TableFacts {
  readonly rows: number;
  readonly meanLength: number;
}

/** Rows and terms of each column: the first record of a table's data. What was deleted is never taken off. */
export function tableFacts(db: Connection): TableFacts {
  const [block] = db.get('SELECT block FROM terms_data WHERE id = 1') ?? [];
  const [rows = 0, ...columns] = block instanceof Uint8Array ? varintsIn(block) : [];
  return { rows, meanLength: columns.reduce((sum, terms) => sum + terms, 0) / rows };
}

/** Numbers of 7 bits a byte, the highest first, and the eighth bit where another byte follows. */
function varintsIn(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let number = 0;
  for (const byte of bytes) {
    number = number * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    numbers.push(number);
    number = 0;
  }
  return numbers;
}

/** How rare a term is to the engine that so many rows have. */
export function engineRarity({ rows }: TableFacts, matching: number): number {
  const rarity = Math.log((rows - matching + 0.5) / (matching + 0.5));
  return rarity > 0 ? rarity : ENGINE.leastRarity;
}

/** How often a row has a term, from the engine's weight of it in parts of the term's rarity. */
export function frequencyFrom(share: number, length: number, { meanLength }: TableFacts): number {
  const { k1, b } = ENGINE;
  // A share of k1 + 1 would be that of endless many.
  const slack = Math.max(k1 + 1 - share, 1e-6);
  return (share * k1 * (1 - b + (b * length) / meanLength)) / slack;
}
