import { type Approval, ApprovalKind, ApprovalStatus } from '@commonplace/proto/agents/v1/approval.js';
import type { ComponentChildren, VNode } from 'preact';
import { Summary } from '../auth/form.js';
import { sitePage } from '../page/site.js';
import { DecisionForm, type PageState } from './decision-form.js';
import { endOf, RISKS, timeText } from './words.js';

/** Renders an approval: what will happen, which the server has computed from the call, and the form of the decision. */
export function approvalPage(approval: Approval, state: PageState): string {
  const { errors } = state;
  const end = endOf(approval);
  return sitePage({
    title: errors === undefined ? approval.title : `Error: ${approval.title}`,
    children: (
      <>
        <h1>{approval.title}</h1>
        {errors && <Summary {...errors} />}
        {end && (
          <p class="notice" role="status">
            {end}
            {approval.comment !== undefined && ` “${approval.comment}”`}
          </p>
        )}
        {approval.supersededBy !== undefined && (
          <p>
            <a href={`/approvals/${approval.supersededBy}`}>Go to the new approval</a>
          </p>
        )}
        {approval.tainted && <Taint {...approval} />}
        <Facts {...approval} />
        <WhatHappens {...approval} />
        {end === undefined && <Decision approval={approval} state={state} />}
        <p>
          <a href="/approvals">All approvals that wait</a>
        </p>
      </>
    ),
  });
}

function Decision({ approval, state }: { readonly approval: Approval; readonly state: PageState }): VNode | null {
  if (approval.status !== ApprovalStatus.PENDING) return null;
  if (!approval.canDecide) return <p class="notice">Somebody else decides this.</p>;
  return <DecisionForm approval={approval} {...state} />;
}

/** Warns that text written by outsiders may have led to the call. */
function Taint({ taintSources }: Approval): VNode {
  return (
    <div class="notice">
      <p>
        Before it asked for this, the run read what no member has written. Such content can contain instructions:
        approve only what you want yourself.
      </p>
      <ul>
        {taintSources.map(({ type, id, name }) => (
          <li key={type + id}>
            {name} ({type})
          </li>
        ))}
      </ul>
    </div>
  );
}

function Facts({ kind, tool, risk, requestedAt, expiresAt, status }: Approval): VNode {
  return (
    <dl class="facts">
      {kind !== ApprovalKind.QUESTION && <Fact name="Risk">{RISKS[risk]}</Fact>}
      <Fact name="Tool">
        <code>{tool?.name}</code>
      </Fact>
      <Fact name="Asked on">{timeText(requestedAt)}</Fact>
      {status === ApprovalStatus.PENDING && <Fact name="Waits until">{timeText(expiresAt)}</Fact>}
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }): VNode {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function WhatHappens({ preview, url }: Approval): VNode | null {
  const { text = '', targets = [], recipients = [], hosts = [] } = preview ?? {};
  const lists = [
    { name: 'What it is about', items: targets },
    { name: 'Who receives it', items: recipients },
    { name: 'Where it is sent', items: hosts },
  ].filter(({ items }) => items.length > 0);
  if (text === '' && lists.length === 0 && url === undefined) return null;
  return (
    <section aria-labelledby="what">
      <h2 id="what">What will happen</h2>
      {lists.map(({ name, items }) => (
        <section key={name} aria-label={name}>
          <h3>{name}</h3>
          <ul>
            {items.map((item) => (
              <li key={item}>{item}</li>
            ))}
          </ul>
        </section>
      ))}
      {text !== '' && <Diff text={text} />}
      {url !== undefined && (
        <p>
          The server asks you to open{' '}
          <a href={url} rel="noopener noreferrer nofollow">
            {url}
          </a>
        </p>
      )}
    </section>
  );
}

/** Renders a diff with added and removed lines highlighted. Its content is always rendered as text. */
function Diff({ text }: { readonly text: string }): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by its focus.
    <section class="wide" aria-label="Preview" tabIndex={0}>
      <pre class="diff">
        {text.split('\n').map((line, i) => (
          <Line key={i} line={line} />
        ))}
      </pre>
    </section>
  );
}

function Line({ line }: { readonly line: string }): VNode {
  if (line.startsWith('+') && !line.startsWith('+++')) return <ins>{`${line}\n`}</ins>;
  if (line.startsWith('-') && !line.startsWith('---')) return <del>{`${line}\n`}</del>;
  return <span>{`${line}\n`}</span>;
}
