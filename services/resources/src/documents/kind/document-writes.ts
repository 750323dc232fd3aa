import type { CallContext } from '@commonplace/kit/rpc';
import { createBreathe } from '@commonplace/kit/slices';
import type { UnitOfWork } from '@commonplace/kit/store';
import type { ContentInput, Holder, PreparedWrite } from '../../content/kind.js';
import { NO_WRITE } from '../../content/kind.js';
import type { Node } from '../../domain/node.js';
import type { Outcome } from './derivation.js';
import { type Body, bare, EMPTY, formatFrom, hashOf } from './document-body.js';
import { type Limits, needsNoReading, type ReadInput } from './document-input.js';
import { type DocumentKind, type DocumentParts, type DocumentReader, within } from './document-parts.js';
import type { DocumentFormat, StoredContent } from './records.js';
import { renamesIn } from './redirect.js';

type WriteMethods = Pick<DocumentKind, 'create' | 'write' | 'keep' | 'keepInput' | 'restore' | 'copy'>;

/** Creates the methods that write documents, and that keep their bodies for snapshots. */
export function createDocumentWrites(
  { contents, keeper, settings, hidden, deriver }: DocumentParts,
  { kept, shown }: DocumentReader,
): WriteMethods {
  const limits: Limits = { documentBytes: settings.documentBytes, documentJsonBytes: settings.documentJsonBytes };

  /** Prepares the first content of a node. */
  function beginning(holder: Holder, body: Body, warnings: ReadInput['warnings'], context: CallContext): PreparedWrite {
    return {
      changed: true,
      sizeBytes: Buffer.byteLength(body.text),
      warnings,
      loses: false,
      apply: () => {
        context.work.insert(contents, recordOf(holder, body));
      },
    };
  }

  /** Prepares a write that replaces the body. */
  function replacing(
    node: Node,
    before: StoredContent | undefined,
    { body, changed, warnings }: Outcome,
    asked: DocumentFormat,
    context: CallContext,
  ): PreparedWrite {
    const breathe = createBreathe(context.signal);
    return {
      changed,
      sizeBytes: Buffer.byteLength(body.text),
      warnings,
      loses: false,
      async apply() {
        await breathe();
        const record = recordOf(node, body);
        toReplace.delete(context.work);
        if (before === undefined) context.work.insert(contents, record);
        else context.work.replace(contents, before, record);
      },
      async answer({ format }) {
        await breathe();
        return shown(node.tenant, body, formatFrom(format) ?? asked, context);
      },
    };
  }

  /** Reads a body to be kept; a write in the same unit has read it already. */
  const toReplace = new WeakMap<UnitOfWork, StoredContent>();
  async function current({ id }: Pick<Node, 'id'>, work: UnitOfWork): Promise<Body> {
    const read = toReplace.get(work);
    return (read?.id === id ? read : await work.get(contents, id)) ?? EMPTY;
  }

  return {
    create(holder, input, context) {
      const read = deriver.run(
        within(holder, context),
        needsNoReading(input) ? 0 : inputBytes(input),
        'create',
        input,
        limits,
      );
      const begin = ({ body, warnings }: ReadInput) => beginning(holder, body, warnings, context);
      return read instanceof Promise ? read.then(begin) : begin(read);
    },
    async write(node, input, context) {
      const breathe = createBreathe(context.signal);
      const before = await context.work.get(contents, node.id);
      if (before !== undefined) toReplace.set(context.work, before);
      await breathe();
      const was = before === undefined ? EMPTY : bare(before);
      const unknown = await hidden.in(context, was.text);
      await breathe();
      const isStored = unknown.length === 0 && was.blockIds === undefined && needsNoReading(input, was.format);
      const bytes = isStored ? 0 : lengthAfter(was.text.length, input.edits) + inputBytes(input);
      const outcome = await deriver.run(within(node, context), bytes, 'write', was, input, limits, unknown);
      return replacing(node, before, outcome, outcome.format, context);
    },
    async keep(node, snapshotId, context) {
      const breathe = createBreathe(context.signal);
      const body = await current(node, context.work);
      await breathe();
      const kept = { sizeBytes: Buffer.byteLength(body.text), hash: await hashOf(body, breathe) };
      await keeper.keep(node, snapshotId, bare(body), kept, context.work);
      await breathe();
      return kept;
    },
    async keepInput(node, snapshotId, input, context) {
      const { body } = await deriver.run(within(node, context), inputBytes(input), 'create', input, limits);
      const hash = await hashOf(body, createBreathe(context.signal));
      const kept = { sizeBytes: Buffer.byteLength(body.text), hash };
      await keeper.keep(node, snapshotId, body, kept, context.work);
      return kept;
    },
    async restore(node, snapshotId, context) {
      const before = await context.work.get(contents, node.id);
      const was = before === undefined ? EMPTY : bare(before);
      const body = await kept(snapshotId, context);
      const outcome = await deriver.run(
        within(node, context),
        was.text.length + body.text.length,
        'replace',
        was,
        body,
      );
      return replacing(node, before, outcome, body.format, context);
    },
    async copy(from, to, context, renamed = () => undefined) {
      const record = await context.work.get(contents, from.id);
      if (record === undefined) return NO_WRITE;
      const body = bare(record);
      const renames = renamesIn(body, renamed);
      const copied =
        renames.size === 0 ? body : await deriver.run(to.tenant, body.text.length, 'redirect', body, renames);
      return beginning(to, copied, [], context);
    },
  };
}

function recordOf({ id, tenant }: Pick<Holder, 'id' | 'tenant'>, body: Body): Omit<StoredContent, 'version'> {
  return { id, tenant, format: body.format, text: body.text, blockIds: body.blockIds };
}

/** Returns the length that edits can give a text at most: those of all occurrences can make a short one very long. */
function lengthAfter(length: number, edits: ContentInput['edits']): number {
  return edits.reduce((most, { oldText, newText, replaceAll }) => {
    const found = replaceAll ? most / Math.max(1, oldText.length) : 1;
    return most + found * Math.max(0, newText.length - oldText.length);
  }, length);
}

/** Estimates how much text of a write has to be parsed. */
function inputBytes({ content, markdown = '', html = '', document, edits }: ContentInput): number {
  const changed = edits.reduce((sum, { oldText, newText }) => sum + oldText.length + newText.length, 0);
  return content.length + markdown.length + html.length + document.length + changed;
}
