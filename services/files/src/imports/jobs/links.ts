import type { Redirect } from '../domain/links.js';
import type { Run } from './run-parts.js';

/** The links of one item, as they are redirected. */
export interface Links {
  readonly redirect: Redirect;
  /** How many were. */
  count(): number;
  /** Which items they lead to. */
  targets(): number[];
  /** Those that lead nowhere, as they stand in the source. */
  broken(): string[];
}

/** Broken links of one item that are kept for the report. */
const MOST_BROKEN = 200;

/** Redirects the links of an item to the resources that their targets become: their ids are known before they are. */
export function createLinks({ items }: Pick<Run, 'items'>, seq: number): Links {
  const from = items.item(seq);
  const targets = new Set<number>();
  const broken: string[] = [];
  let count = 0;
  return {
    redirect(href) {
      const at = href.indexOf('#');
      const path = at < 0 ? href : href.slice(0, at);
      if (path === '') return undefined;
      const target = items.source.resolve(from, path);
      if ('outside' in target) return undefined;
      const to = 'item' in target ? items.seqOf(target.item) : undefined;
      if (to === undefined) {
        if (broken.length < MOST_BROKEN) broken.push(href);
        return undefined;
      }
      count++;
      targets.add(to);
      items.link(to);
      return `resource:${items.resourceId(to)}${at < 0 ? '' : href.slice(at)}`;
    },
    count: () => count,
    targets: () => [...targets],
    broken: () => broken,
  };
}
