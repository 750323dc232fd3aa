import type { ShippedTemplate } from './shipped.js';

export const teamHandbook: ShippedTemplate = {
  slug: 'team-handbook',
  name: 'Team handbook',
  description: 'How your team works: who you are, how you decide, how people join and what they can count on.',
  icon: '📘',
  category: 'Team',
  tree: [
    {
      type: 'document',
      name: 'Start here',
      icon: '👋',
      content: `# Welcome

This handbook says how we work. It is short on purpose: what is not written down here, we decide together and then
write down.

- New here? Begin with [your first week](resource:@first-week).
- Looking for a rule? See [how we decide](resource:@decide) and [working hours and time off](resource:@time-off).
- Something is wrong or missing? Change it. Every page has a history, so nothing is lost.

> [!NOTE]
> Each page names its owner at the top. The owner keeps it true; everybody may improve it.
`,
    },
    {
      type: 'folder',
      name: 'Who we are',
      icon: '🧭',
      children: [
        {
          type: 'document',
          name: 'Mission and values',
          content: `# Mission and values

**Owner:** _name_

## Why we exist

_One sentence that a stranger understands: whom we help, with what, and why it matters._

## What we value

1. **Say it early.** Bad news gets worse with age.
2. **Write it down.** A decision that is not written is a rumour.
3. **Leave it better.** Fix the small thing that you trip over.

For each value, add one story of a time when it cost us something and we kept it.
`,
        },
        {
          type: 'table',
          name: 'People',
          description: 'Who is on the team, and what to ask them about.',
          columns: [
            { id: 'name', name: 'Name' },
            { id: 'role', name: 'Role' },
            { id: 'ask', name: 'Ask me about', type: 'long_text' },
            { id: 'zone', name: 'Time zone' },
            { id: 'since', name: 'Since', type: 'date' },
          ],
          rows: [['Your name', 'Your role', 'What you know well', 'Europe/Berlin']],
        },
      ],
    },
    {
      type: 'folder',
      name: 'How we work',
      icon: '⚙️',
      children: [
        {
          key: 'decide',
          type: 'document',
          name: 'How we decide',
          content: `# How we decide

Most decisions are made by whoever does the work. Ask yourself two questions:

| | Easy to undo | Hard to undo |
|---|---|---|
| **Touches only you** | Do it | Tell somebody first |
| **Touches others** | Do it and tell them | Write a proposal |

## A proposal

1. **Problem** – what happens if we do nothing?
2. **Options** – at least two, each with its cost.
3. **Recommendation** – and what would change your mind.
4. **Deadline** – silence until then means consent.

Keep the page after the decision and add the outcome at its top.
`,
        },
        {
          type: 'document',
          name: 'Communication',
          content: `# Communication

- **Write first, meet second.** A meeting without a page to read beforehand is cancelled.
- **In the open.** Questions go where others can find the answer.
- **Urgent** means that somebody is losing money, data or sleep. Then call.

## Reply times

| Where | Expect an answer within |
|---|---|
| Comment on a page | two working days |
| Direct message | one working day |
| Call | now |
`,
        },
      ],
    },
    {
      type: 'folder',
      name: 'Joining us',
      icon: '🌱',
      children: [
        {
          key: 'first-week',
          type: 'document',
          name: 'Your first week',
          content: `# Your first week

## Day 1

- [ ] Accounts work: mail, calendar, this workspace
- [ ] Lunch with your buddy
- [ ] Read *Mission and values* and [how we decide](resource:@decide)

## Days 2–4

- [ ] Talk with everybody on the team for half an hour
- [ ] Ship one small thing, however small
- [ ] Fix one page of this handbook that confused you

## Day 5

- [ ] Talk with your lead: what surprised you, what is unclear, what is next?
`,
        },
        {
          key: 'time-off',
          type: 'document',
          name: 'Working hours and time off',
          content: `# Working hours and time off

- **Hours:** _core hours when everybody can be reached, and the time zone they are in._
- **Holidays:** _days a year; book them in the calendar two weeks ahead._
- **Sick:** tell your lead in the morning and get well. Nobody asks for more.
- **Parents and carers:** _what people can count on, and whom to ask._
`,
        },
      ],
    },
  ],
};
