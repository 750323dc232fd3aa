import type { StoredCitation } from '../domain/citation.js';
import { bestPart, matches, SNIPPET_LENGTH } from '../domain/passage.js';
import { hostsIn, ReplyFilter } from './reply-filter.js';
import type { Source, Sources } from './sources.js';

/** The citations and link rules of one reply, across all calls of the model that write it. */
export class Reply {
  /** The numbers of the cited sources, in the order of their first use. */
  private readonly cited: number[] = [];
  private readonly hosts: Set<string>;

  constructor(
    private readonly sources: Sources,
    ownWords: string,
  ) {
    this.hosts = hostsIn(ownWords);
  }

  /** Creates a filter for one call of the model. */
  filter(): ReplyFilter {
    return new ReplyFilter({
      cite: (number) => this.cite(number),
      allowsHost: (host) => this.hosts.has(host),
    });
  }

  get citedNumbers(): readonly number[] {
    return this.cited;
  }

  /** Restores the citations of an earlier worker. */
  restore(numbers: readonly number[]): void {
    this.cited.length = 0;
    for (const number of numbers) this.cite(number);
  }

  /**
   * Returns the citations whose markers occur in a text. The snippet of each is the part of the source that best
   * supports the text before the marker.
   */
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

/** Number of characters before a marker that count as the claim it supports. */
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
