import type { PublicationFace, ReaderPage } from '@commonplace/proto/resources/v1/reader_service.js';
import type { VNode } from 'preact';

const EXCERPT_CHARS = 200;

/** Renders the metadata of a page for search engines and link previews. */
export function Head({ page }: { page: ReaderPage }): VNode {
  const { item, face, canonicalUrl, indexed } = page;
  const title = item?.name ?? '';
  const description = descriptionOf(page);
  const image = imageOf(page);
  const language = face?.language || 'en';
  return (
    <>
      {!indexed && <meta name="robots" content="noindex, nofollow" />}
      <link rel="canonical" href={canonicalUrl} />
      <link rel="alternate" hreflang={language} href={canonicalUrl} />
      <link rel="alternate" hreflang="x-default" href={canonicalUrl} />
      {face?.allowCopy && <link rel="alternate" type="text/markdown" href={`${canonicalUrl}?format=md`} />}
      {description !== '' && <meta name="description" content={description} />}
      <meta property="og:type" content={page.document ? 'article' : 'website'} />
      <meta property="og:title" content={title} />
      <meta property="og:site_name" content={face?.title ?? title} />
      <meta property="og:url" content={canonicalUrl} />
      <meta property="og:locale" content={language.replace('-', '_')} />
      {description !== '' && <meta property="og:description" content={description} />}
      {image !== undefined && <meta property="og:image" content={image} />}
      <meta name="twitter:card" content={image === undefined ? 'summary' : 'summary_large_image'} />
      {/* This is JSON data without `<`, not a script. */}
      <script type="application/ld+json" dangerouslySetInnerHTML={{ __html: linkedData(page, description, image) }} />
    </>
  );
}

/** Renders the head of a page that has no metadata, such as a password form or a missing page. */
export function PlainHead(): VNode {
  return <meta name="robots" content="noindex, nofollow" />;
}

function descriptionOf({ item, face, document, trail }: ReaderPage): string {
  const own = item?.description || document?.excerpt || '';
  return (trail.length < 2 ? face?.description || own : own).slice(0, EXCERPT_CHARS);
}

/** Returns the absolute URL of the preview image, since previews accept no relative one. */
function imageOf({ face, document, canonicalUrl }: ReaderPage): string | undefined {
  const path = document?.imagePath ?? '';
  if (path !== '' && URL.canParse(path, canonicalUrl)) return new URL(path, canonicalUrl).href;
  return face?.imageUrl || undefined;
}

const KINDS: readonly (readonly [keyof ReaderPage, string])[] = [
  ['document', 'Article'],
  ['table', 'Dataset'],
  ['folder', 'CollectionPage'],
  ['artifact', 'CreativeWork'],
  ['file', 'MediaObject'],
];

/** Returns JSON-LD with the vocabulary of schema.org. */
function linkedData(page: ReaderPage, description: string, image: string | undefined): string {
  const { item, face, canonicalUrl, trail } = page;
  const data = {
    '@context': 'https://schema.org',
    '@type': KINDS.find(([body]) => page[body] !== undefined)?.[1] ?? 'WebPage',
    name: item?.name,
    ...(page.document ? { headline: item?.name?.slice(0, 110) } : {}),
    url: canonicalUrl,
    ...(description === '' ? {} : { description }),
    ...(image === undefined ? {} : { image }),
    datePublished: face?.publishedAt,
    dateModified: item?.updatedAt,
    inLanguage: face?.language || 'en',
    ...(item?.author ? { author: { '@type': 'Person', name: item.author } } : {}),
    ...(trail.length > 1 ? { isPartOf: { '@type': 'WebSite', name: face?.title, url: face?.url } } : {}),
  };
  return JSON.stringify(data).replaceAll('<', '\\u003c');
}

export const themeOf = (face: Pick<PublicationFace, 'theme'> | undefined): 'light' | 'dark' | undefined =>
  face?.theme === 'light' || face?.theme === 'dark' ? face.theme : undefined;
