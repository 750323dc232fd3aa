import type {
  DocumentBody,
  FileBody,
  FolderBody,
  ReaderPage,
  TableBody,
} from '@commonplace/proto/resources/v1/reader_service.js';
import type { VNode } from 'preact';
import { proseOf } from '../../page/prose.js';
import { Artifact, type FrameAddress } from './artifact.js';
import { Name } from './tree.js';

interface BodyParts {
  readonly page: ReaderPage;
  readonly frame: FrameAddress;
}

/** Renders the content of a page according to the type of its item. */
export function Body({ page, frame }: BodyParts): VNode | null {
  const { document, table, artifact, folder, file, item, face } = page;
  const path = item?.path ?? '';
  if (document) return <Document {...document} showToc={face?.showToc ?? false} />;
  if (table) return <Table {...table} path={path} name={item?.name ?? ''} />;
  if (artifact) return <Artifact artifact={artifact} frame={frame} />;
  if (folder) return <Folder {...folder} path={path} />;
  if (file) return <File {...file} name={item?.name ?? ''} />;
  return null;
}

/** Deepest heading level in a table of contents and, below, the minimum number of headings that make one. */
const MAX_LEVEL = 3;
const MIN_HEADINGS = 2;

function Document({ html, headings, showToc }: DocumentBody & { showToc: boolean }): VNode {
  const listed = headings.filter(({ level }) => level <= MAX_LEVEL);
  const top = Math.min(...listed.map(({ level }) => level));
  return (
    <>
      {showToc && listed.length >= MIN_HEADINGS && (
        <details class="toc" open={listed.length <= 12}>
          <summary>On this page</summary>
          <nav aria-label="On this page">
            <ul>
              {listed.map(({ id, level, text }) => (
                <li key={id} class={level > top ? 'deep' : undefined}>
                  <a href={`#${id}`}>{text}</a>
                </li>
              ))}
            </ul>
          </nav>
        </details>
      )}
      {/* The text is sanitized with an allow-list when it is derived. */}
      <div class="prose" dir="auto" dangerouslySetInnerHTML={{ __html: proseOf(html) }} />
    </>
  );
}

/** Types of columns whose line ends are shown. */
const LINED = new Set(['text', 'long_text']);
const NUMBERS = new Set(['number', 'currency', 'percent', 'duration', 'count', 'auto_number', 'rating']);

function Table({
  columns,
  rows,
  rowCount,
  offset,
  limit,
  path,
  name,
}: TableBody & { path: string; name: string }): VNode {
  const numeric = columns.map(({ type }) => (NUMBERS.has(type) ? 'number' : undefined));
  const classes = columns.map(({ type }, i) => (LINED.has(type) ? 'lined' : numeric[i]));
  return (
    <>
      <p class="about">{rowsShown({ offset, shown: rows.length, rowCount })}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what is wide is scrolled by keyboard */}
      <section class="scroll" aria-label={`Table: ${name}`} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {columns.map((column, i) => (
                <th key={column.id} scope="col" class={numeric[i]} title={column.description || undefined}>
                  {column.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.id}>
                {row.cells.map((cell, i) => (
                  <td key={columns[i]?.id} class={classes[i]}>
                    <Cell text={cell} type={columns[i]?.type ?? ''} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <Turn path={path} offset={offset} limit={limit} count={rowCount} shown={rows.length} things="rows" />
    </>
  );
}

function rowsShown({ offset, shown, rowCount }: { offset: number; shown: number; rowCount: number }): string {
  if (rowCount === 0) return 'No rows yet.';
  if (shown === rowCount) return rowCount === 1 ? '1 row' : `${rowCount} rows`;
  return shown === 0 ? `${rowCount} rows` : `Rows ${offset + 1} to ${offset + shown} of ${rowCount}`;
}

function Cell({ text, type }: { text: string; type: string }): VNode {
  if (type === 'url' && /^https?:\/\//i.test(text)) {
    return (
      <a href={text} rel="noopener noreferrer nofollow">
        {text}
      </a>
    );
  }
  if (type === 'email' && /^[^\s@]+@[^\s@]+$/.test(text)) return <a href={`mailto:${text}`}>{text}</a>;
  return <>{text}</>;
}

interface TurnParts {
  readonly path: string;
  readonly offset: number;
  readonly limit: number;
  /** Number of all rows or pages. */
  readonly count: number;
  readonly shown: number;
  readonly things: 'rows' | 'pages';
}

/** Renders links to the previous and next rows of a table or pages of a folder. */
function Turn({ path, offset, limit, count, shown, things }: TurnParts): VNode | null {
  const before = offset > 0 ? Math.max(0, offset - limit) : undefined;
  const after = shown > 0 && offset + shown < count ? offset + shown : undefined;
  if (before === undefined && after === undefined) return null;
  return (
    <nav class="more" aria-label={things === 'rows' ? 'Rows' : 'Pages in this folder'}>
      {before !== undefined && (
        <a rel="prev" href={before === 0 ? path || '/' : `${path || '/'}?offset=${before}`}>
          Previous {things}
        </a>
      )}
      {after !== undefined && (
        <a rel="next" href={`${path || '/'}?offset=${after}`}>
          Next {things}
        </a>
      )}
    </nav>
  );
}

function Folder({ children, offset, limit, childCount, path }: FolderBody & { path: string }): VNode {
  if (children.length === 0 && offset === 0) return <p class="soft">There is nothing here yet.</p>;
  return (
    <>
      <ul class="list">
        {children.map((entry) => (
          <li key={entry.path}>
            <a href={entry.path}>
              <Name {...entry} />
            </a>
          </li>
        ))}
      </ul>
      <Turn path={path} offset={offset} limit={limit} count={childCount} shown={children.length} things="pages" />
    </>
  );
}

function File({ contentType, sizeBytes, path, isImage, name }: FileBody & { name: string }): VNode {
  return (
    <>
      <p class="about">
        {contentType}, {sizeText(sizeBytes)}
      </p>
      {isImage && path !== '' && (
        <p class="picture">
          <img src={path} alt={name} />
        </p>
      )}
      {path === '' ? (
        <p class="soft">This file is not given away.</p>
      ) : (
        <p>
          <a class="button" href={path} download={name}>
            Download
          </a>
        </p>
      )}
    </>
  );
}

function sizeText(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
  const unit = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  const size = bytes / 1000 ** unit;
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}
