import { choices, type ShippedTemplate } from './shipped.js';

export const weeklyPlanner: ShippedTemplate = {
  slug: 'weekly-planner',
  name: 'Weekly planner',
  description: 'A workspace for one person: what matters this week, what waits, and notes that can be found again.',
  icon: '📝',
  category: 'Personal',
  tree: [
    {
      type: 'document',
      name: 'This week',
      icon: '📌',
      content: `# This week

## Three things that matter

1. …
2. …
3. …

## Monday

- [ ] …

## Tuesday

- [ ] …

## Wednesday

- [ ] …

## Thursday

- [ ] …

## Friday

- [ ] Clear [the list](resource:@list)
- [ ] Look back: what went well, what do I change?
`,
    },
    {
      key: 'list',
      type: 'table',
      name: 'Everything else',
      icon: '📥',
      columns: [
        { id: 'what', name: 'What', required: true },
        { id: 'when', name: 'When', type: 'select', options: choices('Next', 'Later', 'Some day', 'Waiting') },
        { id: 'area', name: 'Area' },
        { id: 'done', name: 'Done', type: 'checkbox' },
      ],
      rows: [['Put what is on my mind here', 'Next', 'Home', false]],
    },
    {
      type: 'folder',
      name: 'Notes',
      icon: '🗒️',
      children: [
        {
          type: 'document',
          name: 'Books and articles',
          content: `# Books and articles

## _Title_ – _author_

- What it says in one sentence:
- What I want to keep:
- What I will do about it:
`,
        },
      ],
    },
    { type: 'folder', name: 'Archive', icon: '🗄️' },
  ],
};
