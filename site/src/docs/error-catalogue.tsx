import { ERROR_CODES, ERROR_TYPES, type ErrorStatus } from '@commonplace/platform/error-codes';
import type { VNode } from 'preact';
import { sitePage } from '../page/site.js';

/** Renders the page to which `doc_url` of errors points, with an anchor for each code. */
export function errorCatalogue(): string {
  return sitePage({
    title: 'Errors',
    path: '/docs/errors',
    children: (
      <>
        <h1>Errors</h1>
        <p>
          What <code>error.code</code> of an answer means.
        </p>
        {Object.entries(ERROR_CODES).map(([status, codes]) => (
          <Section key={status} status={Number(status) as ErrorStatus} codes={codes} />
        ))}
      </>
    ),
  });
}

/** Renders the error catalogue as Markdown. */
export function errorsMarkdown(): string {
  const sections = Object.entries(ERROR_CODES).map(([status, codes]) => {
    const rows = Object.entries(codes).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
    return [
      `## ${status} ${ERROR_TYPES[Number(status) as ErrorStatus]}`,
      '',
      '| Code | Meaning |',
      '| --- | --- |',
      ...rows,
    ];
  });
  return [
    '# Errors',
    '',
    'What `error.code` of an answer means.',
    ...sections.flatMap((lines) => ['', ...lines]),
    '',
  ].join('\n');
}

function Section({ status, codes }: { status: ErrorStatus; codes: Readonly<Record<string, string>> }): VNode {
  const type = ERROR_TYPES[status];
  return (
    <>
      <h2 id={`${type}-${status}`}>
        {status} {type}
      </h2>
      <dl>
        {Object.entries(codes).map(([code, meaning]) => (
          <>
            <dt id={code}>
              <code>{code}</code>
            </dt>
            <dd>{meaning.split('`').map((part, i) => (i % 2 === 1 ? <code key={part}>{part}</code> : part))}</dd>
          </>
        ))}
      </dl>
    </>
  );
}
