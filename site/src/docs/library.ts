import type { RecordedExamples, Schema } from '@commonplace/platform/api-document';
import { errorsMarkdown } from './error-catalogue.js';
import { listMarkdown, readProjectFile } from './files.js';
import { pathOf, titleOf } from './markdown.js';
import { type DocPage, docFile, MARKDOWN, markdownPages } from './pages.js';
import { chapterMarkdown, contentsMarkdown, EXPLORER_PATH, REFERENCE_PATH } from './reference/chapter.js';
import { type ApiDocument, type Chapter, chaptersOf } from './reference/model.js';
import { postmanCollection } from './reference/postman.js';
import { schemasMarkdown } from './reference/schemas.js';
import { SCHEMAS_PATH } from './reference/types.js';

interface LibraryOptions {
  readonly document: Schema;
  readonly examples: RecordedExamples;
  /** URL of the server for links in `llms.txt`. */
  readonly publicUrl: string;
}

/** Guides that come first, in this order. All others follow by name. */
const FIRST = ['first-steps', 'import-and-search', 'tables', 'forms-and-webhooks', 'sharing-and-publishing'];

/**
 * Creates the pages that are written in Markdown: introduction, guides, topics, reference, changelog, and `llms.txt`.
 */
export async function createLibrary(options: LibraryOptions): Promise<DocPage[]> {
  const document = options.document as unknown as ApiDocument;
  const guides = inOrder(await listMarkdown('docs/guides'));
  const topics = await listMarkdown('docs');
  const chapters = chaptersOf(document);
  const files = [...guides.map((name) => `guides/${name}`), ...topics];
  return [
    ...markdownPages('/docs', () => readDoc('api/introduction.md')),
    ...markdownPages('/docs/guides', () =>
      indexOf(
        'Guides',
        guides.map((name) => `guides/${name}`),
        topics,
      ),
    ),
    ...files.flatMap((file) => markdownPages(pathOf(file) as string, () => readDoc(file), file)),
    ...referencePages(document, chapters, options),
    ...markdownPages('/docs/changelog', async () => (await readProjectFile('CHANGELOG.md')) ?? NO_CHANGELOG),
    docFile('/docs/errors.md', MARKDOWN, errorsMarkdown),
    docFile(`${EXPLORER_PATH}.md`, MARKDOWN, () => contentsMarkdown(chapters)),
    docFile('/llms.txt', 'text/plain; charset=utf-8', () => llmsText(options.publicUrl, files, chapters)),
  ];
}

const NO_CHANGELOG = '# Changelog\n\nThis server comes without one.\n';

function referencePages(
  document: ApiDocument,
  chapters: readonly Chapter[],
  { examples, publicUrl }: LibraryOptions,
): DocPage[] {
  return [
    ...markdownPages(REFERENCE_PATH, async () => contentsMarkdown(chapters)),
    ...chapters.flatMap((chapter) =>
      markdownPages(`${REFERENCE_PATH}/${chapter.slug}`, async () => chapterMarkdown(document, chapter, examples)),
    ),
    ...markdownPages(SCHEMAS_PATH, async () => schemasMarkdown(document)),
    docFile('/docs/api/postman.json', 'application/json; charset=utf-8', () =>
      postmanCollection(chapters, examples, publicUrl),
    ),
  ];
}

async function readDoc(file: string): Promise<string> {
  return (await readProjectFile(`docs/${file}`)) ?? '# Documentation\n\nThis server comes without it.\n';
}

function inOrder(names: readonly string[]): string[] {
  const rank = (name: string) => (FIRST.indexOf(name.replace('.md', '')) + FIRST.length + 1) % (FIRST.length + 1);
  return [...names].sort((a, b) => rank(a) - rank(b));
}

async function indexOf(title: string, guides: readonly string[], topics: readonly string[]): Promise<string> {
  const [first, second] = await Promise.all([listed(guides), listed(topics)]);
  return `# ${title}\n\nFirst steps, each with commands to copy.\n\n${first}\n\n## In depth\n\n${second}\n`;
}

async function listed(files: readonly string[], url = ''): Promise<string> {
  const lines = files.map(async (file) => `- [${titleOf(await readDoc(file))}](${url}${pathOf(file)}${url && '.md'})`);
  return (await Promise.all(lines)).join('\n');
}

/** Renders the table of contents for language models in the format of llmstxt.org. */
async function llmsText(publicUrl: string, files: readonly string[], chapters: readonly Chapter[]): Promise<string> {
  const reference = chapters.map(
    ({ name, slug, description }) => `- [${name}](${publicUrl}${REFERENCE_PATH}/${slug}.md): ${description}`,
  );
  return [
    '# Commonplace',
    '> Workspaces of documents, tables, artifacts, files and folders behind one HTTP API, with search, agents and automations.',
    `Start with the [introduction](${publicUrl}/docs.md). The API is also described by [OpenAPI](${publicUrl}/api/v1/openapi.json).`,
    `## Guides and topics\n\n${await listed(files, publicUrl)}`,
    `## API reference\n\n${reference.join('\n')}\n- [Schemas](${publicUrl}${SCHEMAS_PATH}.md): all types.\n- [Errors](${publicUrl}/docs/errors.md): what each code means.`,
    `## Optional\n\n- [Changelog](${publicUrl}/docs/changelog.md)`,
  ].join('\n\n');
}
