import type { StoredCitation } from '../domain/citation.js';
import type { TaintSource } from '../domain/taint.js';
import type { MessageRecord } from '../stores/sessions.js';
import type { ToolOutput } from './step-log.js';

/** A passage that a run was given, with the number by which the model cites it. */
export interface Source extends Omit<StoredCitation, 'marker'> {
  readonly number: number;
  /** What the model is given: the snippet with what surrounds it. */
  readonly text: string;
  /** Whether that is word for word in the content, so that any part of it can be cited. */
  readonly isVerbatim: boolean;
  /** Set where nobody of the tenant who may comment has written it. */
  readonly taint?: TaintSource | undefined;
}

export type FoundSource = Omit<Source, 'number'>;

/** The sources of a run, numbered from 1 in the order in which they were found. */
export class Sources {
  private all: Source[] = [];
  private readonly drawnFrom = new Set<string>();
  private forAskerOnly = false;

  /** Adds what is new and returns the sources that the found ones are now. */
  add(found: readonly FoundSource[]): Source[] {
    return found.map((one) => {
      const known = this.all.find((source) => source.resourceId === one.resourceId && source.snippet === one.snippet);
      if (known !== undefined) return known;
      const source = { ...one, number: (this.all.at(-1)?.number ?? 0) + 1 };
      this.all.push(source);
      return source;
    });
  }

  /** Takes up sources under the numbers that the model knows them by: calls at the same time end in any order. */
  restore(stored: readonly Source[]): void {
    const known = new Map([...this.all, ...stored].map((source) => [source.number, source]));
    this.all = [...known.values()].sort((a, b) => a.number - b.number);
  }

  /** Adds resources of which the run knows something without citing them. */
  draw(resourceIds: readonly string[]): void {
    for (const id of resourceIds) this.drawnFrom.add(id);
  }

  /** Takes up what a text comes from that the model was given without passages. */
  drawFrom({ drawnFrom = [], isPrivate = false }: Partial<Pick<ToolOutput, 'drawnFrom' | 'isPrivate'>>): void {
    this.draw(drawnFrom);
    this.forAskerOnly ||= isPrivate;
  }

  /** Whether the run knows something that nobody but the person who started it may be told. */
  get isPrivate(): boolean {
    return this.forAskerOnly;
  }

  /** What a message says of that which it is drawn from. */
  get ofMessage(): Pick<MessageRecord, 'sourceIds' | 'isPrivate'> {
    return { sourceIds: this.resourceIds(), ...(this.forAskerOnly && { isPrivate: true }) };
  }

  get(number: number): Source | undefined {
    return this.all.find((source) => source.number === number);
  }

  list(): readonly Source[] {
    return this.all;
  }

  resourceIds(): string[] {
    return [...new Set([...this.all.map(({ resourceId }) => resourceId), ...this.drawnFrom])];
  }
}
