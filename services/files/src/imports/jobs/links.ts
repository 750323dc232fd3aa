import { writtenLink } from '../domain/wiki-links.js';
import type { Run } from './run-parts.js';

/** Redirects the links of one item and collects what happened to them. */
export interface Links {
  readonly redirect: (href: string, times: number) => string | undefined;
  /** Returns the number of redirected links. */
  count(): number;
  /** Returns the positions of the items that they lead to. */
  targets(): number[];
  /** Returns the links without a target, as they are written in the source. */
  broken(): string[];
}

/** Maximum number of broken links of one item that are kept for the report. */
const MAX_BROKEN_LINKS = 200;

/**
 * Redirects the links of an item to the resources that their targets become; ids are derived, so the targets need not
 * exist yet.
 */
export function createLinks({ items }: Pick<Run, 'items'>, seq: number): Links {
  const from = items.item(seq);
  const targets = new Set<number>();
  const broken: string[] = [];
  let count = 0;
  return {
    redirect(href, times) {
      const at = href.indexOf('#');
      const path = at < 0 ? href : href.slice(0, at);
      if (path === '') return undefined;
      const target = items.source.resolve(from, path);
      if ('outside' in target) return undefined;
      const to = 'item' in target ? items.seqOf(target.item) : undefined;
      if (to === undefined) {
        for (let i = 0; i < times && broken.length < MAX_BROKEN_LINKS; i++) broken.push(writtenLink(href));
        return undefined;
      }
      count += times;
      targets.add(to);
      items.link(to);
      return `resource:${items.resourceId(to)}${at < 0 ? '' : href.slice(at)}`;
    },
    count: () => count,
    targets: () => [...targets],
    broken: () => broken,
  };
}
