//! Pairwise testing: rows that contain each pair of values of two factors, as few as a greedy search finds. The same factors give the same
//! rows.

/// The number of random rows from which each row is chosen.
const CANDIDATES: usize = 60;

/// The rows for factors with these numbers of values. A row has the index of a value for each factor.
pub fn pairwise(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut open = Open::new(sizes);
    let mut numbers = Numbers(1);
    let mut rows = vec![];
    while let Some(pair) = open.first() {
        let row = (0..CANDIDATES)
            .map(|_| open.row(sizes, pair, &mut numbers))
            .max_by_key(|row| open.met(row))
            .expect("there are candidates");
        open.close(&row);
        rows.push(row);
    }
    rows
}

/// The pairs that no row has yet, by two factors and a value of each.
struct Open(Vec<Vec<Vec<Vec<bool>>>>);

impl Open {
    fn new(sizes: &[usize]) -> Self {
        let of = |a: usize, of_a: usize| {
            sizes
                .iter()
                .enumerate()
                .map(|(b, &of_b)| vec![vec![a < b; of_b]; of_a])
                .collect()
        };
        let factors = sizes.iter().enumerate();
        Self(factors.map(|(a, &of_a)| of(a, of_a)).collect())
    }

    fn has(&self, (a, value_a): (usize, usize), (b, value_b): (usize, usize)) -> bool {
        if a < b {
            self.0[a][b][value_a][value_b]
        } else {
            self.0[b][a][value_b][value_a]
        }
    }

    fn first(&self) -> Option<[(usize, usize); 2]> {
        for (a, others) in self.0.iter().enumerate() {
            for (b, pairs) in others.iter().enumerate() {
                for (value_a, values) in pairs.iter().enumerate() {
                    if let Some(value_b) = values.iter().position(|&is_open| is_open) {
                        return Some([(a, value_a), (b, value_b)]);
                    }
                }
            }
        }
        None
    }

    /// A row with this pair: the other factors, in a random order, each get the value that meets most.
    fn row(&self, sizes: &[usize], pair: [(usize, usize); 2], numbers: &mut Numbers) -> Vec<usize> {
        let mut chosen = pair.to_vec();
        let mut factors: Vec<usize> = (0..sizes.len())
            .filter(|at| pair.iter().all(|(of, _)| of != at))
            .collect();
        while !factors.is_empty() {
            let factor = factors.swap_remove(numbers.below(factors.len()));
            let value = (0..sizes[factor]).max_by_key(|&value| {
                let met = chosen
                    .iter()
                    .filter(|&&other| self.has(other, (factor, value)));
                (met.count(), numbers.below(1000))
            });
            chosen.push((factor, value.expect("a factor has values")));
        }
        chosen.sort_unstable();
        chosen.into_iter().map(|(_, value)| value).collect()
    }

    /// How many open pairs are in a row.
    fn met(&self, row: &[usize]) -> usize {
        let values: Vec<(usize, usize)> = row.iter().copied().enumerate().collect();
        let before = |at: usize| values[..at].iter();
        let met = |&(at, value): &(usize, usize)| {
            before(at)
                .filter(|&&other| self.has(other, (at, value)))
                .count()
        };
        values.iter().map(met).sum()
    }

    fn close(&mut self, row: &[usize]) {
        for a in 0..row.len() {
            for b in a + 1..row.len() {
                self.0[a][b][row[a]][row[b]] = false;
            }
        }
    }
}

/// The same pseudo-random numbers each time.
///
/// <https://en.wikipedia.org/wiki/Linear_congruential_generator>
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

#[test]
fn every_pair_of_values_occurs_in_few_rows() {
    let sizes = [5, 4, 4, 3, 2, 2];
    let rows = pairwise(&sizes);
    assert!((20..=26).contains(&rows.len()), "{}", rows.len());
    for a in 0..sizes.len() {
        for b in a + 1..sizes.len() {
            for (value_a, value_b) in (0..sizes[a]).flat_map(|x| (0..sizes[b]).map(move |y| (x, y)))
            {
                let meets = |row: &Vec<usize>| row[a] == value_a && row[b] == value_b;
                assert!(rows.iter().any(meets), "{a}={value_a} {b}={value_b}");
            }
        }
    }
    assert_eq!(rows, pairwise(&sizes));
}
