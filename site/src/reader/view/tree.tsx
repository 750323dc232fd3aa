import type { ReaderEntry } from '@commonplace/proto/resources/v1/reader_service.js';
import type { VNode } from 'preact';

interface TreeParts {
  readonly entries: readonly ReaderEntry[];
  /** Path of the open page. */
  readonly current: string | undefined;
  /** Number of pages beside the entries that are not among them. */
  readonly leftOut: number;
}

interface Branch {
  readonly entry: ReaderEntry;
  readonly branches: Branch[];
}

/** Renders the tree of a publication's pages. */
export function Tree({ entries, current, leftOut }: TreeParts): VNode {
  return (
    <nav class="pages" id="pages" aria-label="Pages of this publication">
      <h2>Pages</h2>
      <Branches branches={branchesOf(entries)} current={current} />
      {leftOut > 0 && (
        <p class="soft">
          {leftOut} more {leftOut === 1 ? 'page' : 'pages'}, found by the search.
        </p>
      )}
    </nav>
  );
}

function Branches({ branches, current }: { branches: readonly Branch[]; current: string | undefined }): VNode {
  return (
    <ul>
      {branches.map(({ entry, branches: below }) => (
        <li key={entry.path}>
          <a href={entry.path || '/'} aria-current={entry.path === current ? 'page' : undefined}>
            <Name {...entry} />
          </a>
          {below.length > 0 && <Branches branches={below} current={current} />}
        </li>
      ))}
    </ul>
  );
}

function branchesOf(entries: readonly ReaderEntry[]): Branch[] {
  const roots: Branch[] = [];
  const above: { depth: number; branches: Branch[] }[] = [{ depth: -1, branches: roots }];
  for (const entry of entries) {
    while ((above.at(-1)?.depth ?? -1) >= entry.depth) above.pop();
    const branch: Branch = { entry, branches: [] };
    (above.at(-1)?.branches ?? roots).push(branch);
    above.push({ depth: entry.depth, branches: branch.branches });
  }
  return roots;
}

/** Renders the breadcrumbs of a page. */
export function Trail({ trail }: { trail: readonly ReaderEntry[] }): VNode | null {
  if (trail.length < 2) return null;
  return (
    <nav class="crumbs" aria-label="Where this page is">
      <ol>
        {trail.slice(0, -1).map((entry) => (
          <li key={entry.path}>
            <a href={entry.path || '/'}>
              <Name {...entry} />
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** Renders a name with its emoji. Other kinds of icons are shown only in the application. */
export function Name({ icon, name }: Pick<ReaderEntry, 'icon' | 'name'>): VNode {
  return (
    <>
      {EMOJI.test(icon) && <span aria-hidden="true">{icon} </span>}
      {name}
    </>
  );
}

const EMOJI = /^(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u200d|\ufe0f){1,12}$/u;
