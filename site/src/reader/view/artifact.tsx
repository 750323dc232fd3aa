import type { ArtifactBody } from '@commonplace/proto/resources/v1/reader_service.js';
import type { VNode } from 'preact';
import { escapeAttribute } from '../../page/escape.js';
import { markdownHtml } from '../../page/markdown.js';
import { isHtml, Slides } from './slides.js';

/** Address of a page's frame, and whether its content may run scripts. */
export interface FrameAddress {
  readonly src: string;
  readonly scripts: boolean;
}

/** Artifact types that browsers render in a frame. */
const FRAMED = new Set(['html', 'svg']);

/** Returns whether an artifact is shown in a frame. Of presentations, those that are HTML. */
export const isFramed = ({ artifactType, source }: Pick<ArtifactBody, 'artifactType' | 'source'>): boolean =>
  FRAMED.has(artifactType) || (artifactType === 'slides' && isHtml(source));

interface ArtifactParts {
  readonly artifact: ArtifactBody;
  readonly frame: FrameAddress;
}

/** Renders users' code in an isolated frame or as text. */
export function Artifact({ artifact, frame }: ArtifactParts): VNode {
  const { artifactType, source, title } = artifact;
  if (artifactType === 'markdown') {
    // HTML within the text is escaped.
    return <div class="prose" dir="auto" dangerouslySetInnerHTML={{ __html: markdownHtml(source) }} />;
  }
  if (artifactType === 'slides' && !isHtml(source)) return <Slides source={source} />;
  if (!isFramed(artifact)) return <Source {...artifact} />;
  return (
    <>
      <iframe
        class="artifact"
        src={frame.src}
        title={title || 'Artifact'}
        sandbox={frame.scripts ? 'allow-scripts' : ''}
        referrerpolicy="no-referrer"
        loading="lazy"
      />
      {!frame.scripts && <p class="soft">Scripts in it do not run here.</p>}
      <details>
        <summary>Source</summary>
        <Source {...artifact} />
      </details>
    </>
  );
}

function Source({ source, language, artifactType }: ArtifactBody): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what is wide is scrolled by keyboard
    <section class="source" tabIndex={0} aria-label={`Source: ${language || artifactType}`}>
      <pre>
        <code>{source}</code>
      </pre>
    </section>
  );
}

/** Returns the document of a frame. Names of assets in the source are replaced by their addresses. */
export function frameDocument({ source, artifactType, assets, title }: ArtifactBody): string {
  let html = source;
  for (const { name, path, pass } of assets) {
    const address = escapeAttribute(pass === undefined ? path : withPass(path, pass));
    for (const quote of ['"', "'"]) {
      html = html.replaceAll(`=${quote}${name}${quote}`, `=${quote}${address}${quote}`);
    }
  }
  if (artifactType !== 'svg') return html;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeAttribute(title)}</title>${html}`;
}

/** Adds a pass to an address that a frame loads, because frames send no cookies. */
export function withPass(address: string, pass: string): string {
  return `${address}${address.includes('?') ? '&' : '?'}pass=${encodeURIComponent(pass)}`;
}
