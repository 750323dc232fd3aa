import { wholeWordSource } from '@commonplace/kit/words';
import type { PublicationFace, ReaderPage, SearchedPages } from '@commonplace/proto/resources/v1/reader_service.js';
import type { ComponentChildren, VNode } from 'preact';
import { renderPage } from '../../page/page.js';
import type { FrameAddress } from './artifact.js';
import { Body } from './bodies.js';
import { Head, PlainHead, themeOf } from './head.js';
import { Name, Trail, Tree } from './tree.js';

/** Renders a page of a publication. */
export function readerPage(page: ReaderPage, frame: FrameAddress): string {
  const { item, face, trail, tree, leftOut } = page;
  const name = item?.name ?? '';
  const titled = page.document?.headings[0];
  return publicationPage({
    face,
    title: trail.length < 2 || name === face?.title ? name : `${name} · ${face?.title}`,
    head: <Head page={page} />,
    side: tree.length < 2 ? null : <Tree entries={tree} current={trail.at(-1)?.path} leftOut={leftOut} />,
    broad: page.table !== undefined,
    children: (
      <>
        <Trail trail={trail} />
        {(titled?.level !== 1 || titled.text !== name) && (
          <h1>
            <Name icon={item?.icon ?? ''} name={name} />
          </h1>
        )}
        <About page={page} />
        <Body page={page} frame={frame} />
      </>
    ),
  });
}

function About({ page: { item, face, document } }: { page: ReaderPage }): VNode {
  const day = item?.updatedAt?.slice(0, 10);
  return (
    <>
      {item?.description && <p class="lead">{item.description}</p>}
      {day && (
        <p class="about">
          {face?.showAuthor && item?.author ? `${item.author}, ` : ''}
          <time dateTime={day}>{dayText(day, face?.language)}</time>
          {face?.allowCopy && document && (
            <>
              {' · '}
              <a href={`${item?.path || '/'}?format=md`}>Markdown</a>
            </>
          )}
        </p>
      )}
    </>
  );
}

function dayText(day: string, language: string | undefined): string {
  const [locale = 'en'] = Intl.DateTimeFormat.supportedLocalesOf([language || 'en']);
  return new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(day));
}

/** Renders the results of a search within a publication from an offset on. */
export function searchPage({ face, items, hasMore }: SearchedPages, query: string, offset = 0): string {
  const address = (from: number) =>
    `${face?.basePath || '/'}?${new URLSearchParams({ q: query, ...(from > 0 ? { offset: String(from) } : {}) })}`;
  return publicationPage({
    face,
    title: `Search · ${face?.title ?? ''}`,
    head: <PlainHead />,
    query,
    side: null,
    children: (
      <>
        <h1>Search</h1>
        <p role="status">{foundText(items.length, hasMore, query, offset)}</p>
        <ul class="list">
          {items.map(({ entry, excerpt }) => (
            <li key={entry?.path}>
              <a href={entry?.path || '/'}>
                <Name icon={entry?.icon ?? ''} name={entry?.name ?? ''} />
              </a>
              {excerpt !== '' && (
                <p>
                  <Marked text={excerpt} query={query} />
                </p>
              )}
            </li>
          ))}
        </ul>
        {(offset > 0 || hasMore) && (
          <nav class="more" aria-label="Pages of results">
            {offset > 0 && (
              <a rel="prev" href={address(Math.max(0, offset - RESULTS))}>
                Previous results
              </a>
            )}
            {hasMore && (
              <a rel="next" href={address(offset + items.length)}>
                Next results
              </a>
            )}
          </nav>
        )}
      </>
    ),
  });
}

/** Number of results on a page. It is the default of the resources service, because no limit is sent. */
const RESULTS = 20;

function foundText(count: number, hasMore: boolean, query: string, offset: number): string {
  if (count === 0) return offset === 0 ? `Nothing was found for “${query}”.` : `Nothing more was found for “${query}”.`;
  if (offset > 0) return `Results ${offset + 1} to ${offset + count} for “${query}”`;
  return `${hasMore ? `The first ${count}` : count} ${count === 1 ? 'page' : 'pages'} with “${query}”`;
}

/** Renders a text with the words of a query highlighted. */
function Marked({ text, query }: { text: string; query: string }): VNode {
  const words = query.split(/[^\p{L}\p{N}]+/u).filter((word) => word.length > 1);
  if (words.length === 0) return <>{text}</>;
  const parts = text.split(new RegExp(`(${words.map(wholeWordSource).join('|')})`, 'iu'));
  // The parts have no other key than their index.
  return <>{parts.map((part, i) => (i % 2 === 1 ? <mark key={i}>{part}</mark> : part))}</>;
}

interface Frame {
  readonly face: PublicationFace | undefined;
  readonly title: string;
  readonly head: VNode;
  readonly side: VNode | null;
  readonly broad?: boolean;
  readonly query?: string;
  readonly children: ComponentChildren;
}

/** Renders the common layout of a publication's pages: name and search at the top, the tree beside the content. */
function publicationPage({ face, title, head, side, broad, query, children }: Frame): string {
  const base = face?.basePath || '/';
  return renderPage({
    title,
    kind: face?.allowCopy === false ? 'reader no-copy' : 'reader',
    language: face?.language || 'en',
    theme: themeOf(face),
    head,
    children: (
      <>
        <header>
          <a class="brand" href={base}>
            {face?.title}
          </a>
          {side !== null && (
            <a class="to-pages" href="#pages">
              Pages
            </a>
          )}
          <search class="find">
            <form action={base}>
              <input
                type="search"
                name="q"
                aria-label="Search this publication"
                placeholder="Search here"
                value={query}
                required
                maxLength={200}
              />
              <button class="quiet" type="submit">
                Search
              </button>
            </form>
          </search>
        </header>
        <div class={side === null ? 'columns' : 'columns with-pages'}>
          <main id="main" class={broad ? 'broad' : undefined}>
            {children}
          </main>
          {side}
        </div>
      </>
    ),
  });
}
