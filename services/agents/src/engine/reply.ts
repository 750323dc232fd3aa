import type { StoredCitation } from '../domain/citation.js';
import { bestPart, matches, SNIPPET_LENGTH } from '../domain/passage.js';
import { hostsIn, ReplyFilter } from './reply-filter.js';
import type { Source, Sources } from './sources.js';

/** The citations and rules of one reply, over all calls of the model that write it. */
export class Reply {
  /** Numbers of the cited sources, in the order of their first use. */
  private readonly cited: number[] = [];
  private readonly hosts: Set<string>;

  constructor(
    private readonly sources: Sources,
    ownWords: string,
  ) {
    this.hosts = hostsIn(ownWords);
  }

  /** Starts a filter for one call of the model. */
  filter(): ReplyFilter {
    return new ReplyFilter({
      cite: (number) => this.cite(number),
      allowsHost: (host) => this.hosts.has(host),
    });
  }

  get citedNumbers(): readonly number[] {
    return this.cited;
  }

  /** Takes up what an earlier worker has cited. */
  restore(numbers: readonly number[]): void {
    this.cited.length = 0;
    for (const number of numbers) this.cite(number);
  }

  /** Returns the citations whose markers a text has, by marker, each with what fits best to what it stands behind. */
  citations(text: string): StoredCitation[] {
    return this.cited.flatMap((number, i) => {
      const source = this.sources.get(number);
      const at = text.indexOf(`[${i + 1}]`);
      if (source === undefined || at < 0) return [];
      return [citationOf(source, i + 1, text.slice(Math.max(0, at - CLAIM_LENGTH), at))];
    });
  }

  private cite(number: number): number | undefined {
    const source = this.sources.get(number);
    if (source === undefined) return undefined;
    const known = this.cited.indexOf(number);
    if (known >= 0) return known + 1;
    this.cited.push(number);
    for (const host of hostsIn(source.text)) this.hosts.add(host);
    return this.cited.length;
  }
}

/** Characters before a marker that are taken for what it supports. */
const CLAIM_LENGTH = 400;

function citationOf(
  { number: _, taint: __, text, isVerbatim, ...source }: Source,
  marker: number,
  claim: string,
): StoredCitation {
  if (!isVerbatim) return { ...source, marker };
  const { from, to } = bestPart(text, claim, SNIPPET_LENGTH);
  const snippet = text.slice(from, to).trim();
  return { ...source, marker, snippet, ranges: matches(snippet, claim) };
}
