import { newId } from '@commonplace/kit/id';
import type { StoredCitation } from '../domain/citation.js';
import type { TaintSource } from '../domain/taint.js';
import type { MessageRecord } from '../stores/sessions.js';
import type { ToolOutput } from './step-log.js';

/** A passage that a run has received, with the number by which the model cites it. */
export interface Source extends Omit<StoredCitation, 'marker'> {
  readonly number: number;
  /** The text for the model: the snippet with its surroundings. */
  readonly text: string;
  /** Whether `text` is verbatim content, so that any part of it can be cited. */
  readonly isVerbatim: boolean;
  /** Present if the content was not written by a person of the tenant with at least the role commenter. */
  readonly taint?: TaintSource | undefined;
}

export type FoundSource = Omit<Source, 'number'>;

/** The sources of a run, numbered from 1 in the order in which they were found. */
export class Sources {
  /** A random boundary for what the prompts of one worker contain from the start. */
  readonly boundary = newId();
  private all: Source[] = [];
  private readonly drawnFrom = new Set<string>();
  private forAskerOnly = false;

  /** Adds sources, and returns them with numbers. Known sources keep theirs. */
  add(found: readonly FoundSource[]): Source[] {
    return found.map((one) => {
      const known = this.all.find((source) => source.resourceId === one.resourceId && source.snippet === one.snippet);
      if (known !== undefined) return known;
      const source = { ...one, number: (this.all.at(-1)?.number ?? 0) + 1 };
      this.all.push(source);
      return source;
    });
  }

  /** Restores sources under their numbers. Concurrent calls may end in any order. */
  restore(stored: readonly Source[]): void {
    const known = new Map([...this.all, ...stored].map((source) => [source.number, source]));
    this.all = [...known.values()].sort((a, b) => a.number - b.number);
  }

  /** Adds resources that influence the answer without being cited. */
  draw(resourceIds: readonly string[]): void {
    for (const id of resourceIds) this.drawnFrom.add(id);
  }

  /** Adds the origins of a tool's output that has no passages. */
  drawFrom({ drawnFrom = [], isPrivate = false }: Partial<Pick<ToolOutput, 'drawnFrom' | 'isPrivate'>>): void {
    this.draw(drawnFrom);
    this.forAskerOnly ||= isPrivate;
  }

  /** Whether the run has read content that only the person who started it may see. */
  get isPrivate(): boolean {
    return this.forAskerOnly;
  }

  /** The fields of a message about its sources. */
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
