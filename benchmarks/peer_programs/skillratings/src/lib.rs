//! Games from arrays, rated by skillratings. The caller owns all arrays, and their lengths are those that it names.

use skillratings::elo::{elo, EloConfig, EloRating};
use skillratings::glicko2::{glicko2_rating_period, Glicko2Config, Glicko2Rating};
use skillratings::Outcomes;
use std::slice::{from_raw_parts, from_raw_parts_mut};

fn outcome(result: f64) -> Outcomes {
    match result {
        r if r > 0.5 => Outcomes::WIN,
        r if r < 0.5 => Outcomes::LOSS,
        _ => Outcomes::DRAW,
    }
}

fn reversed(outcome: Outcomes) -> Outcomes {
    match outcome {
        Outcomes::WIN => Outcomes::LOSS,
        Outcomes::LOSS => Outcomes::WIN,
        Outcomes::DRAW => Outcomes::DRAW,
    }
}

/// Elo, game after game, from 1500 with K 32. `result` is that of `first`. Writes the rating of each agent.
///
/// # Safety
/// `first`, `second` and `result` have `games` values, `ratings` has `agents`; agents are numbers below `agents`.
#[no_mangle]
pub unsafe extern "C" fn elo_games(
    games: usize,
    first: *const i64,
    second: *const i64,
    result: *const f64,
    agents: usize,
    ratings: *mut f64,
) {
    let (first, second, result) = (from_raw_parts(first, games), from_raw_parts(second, games), from_raw_parts(result, games));
    let config = EloConfig { k: 32.0 };
    let mut own = vec![EloRating { rating: 1500.0 }; agents];
    for game in 0..games {
        let (a, b) = (first[game] as usize, second[game] as usize);
        (own[a], own[b]) = elo(&own[a], &own[b], &outcome(result[game]), &config);
    }
    for (to, from) in from_raw_parts_mut(ratings, agents).iter_mut().zip(&own) {
        *to = from.rating;
    }
}

const SCALE: f64 = 173.7178;

/// The rating after a period with a deviation before its games of at most `most`. The crate has this limit for agents without games only.
/// Information and surprise of the games follow from the deviations before and after.
fn limited(before: &Glicko2Rating, after: Glicko2Rating, most: f64) -> Glicko2Rating {
    let spread = (before.deviation / SCALE).hypot(after.volatility);
    let most = most / SCALE;
    if spread <= most {
        return after;
    }
    let reached = after.deviation / SCALE;
    let information = reached.powi(-2) - spread.powi(-2);
    let surprise = (after.rating - before.rating) / SCALE / reached.powi(2);
    let deviation = (most.powi(-2) + information).powf(-0.5);
    Glicko2Rating {
        rating: before.rating + SCALE * deviation.powi(2) * surprise,
        deviation: SCALE * deviation,
        volatility: after.volatility,
    }
}

/// Glicko-2 from 1500, 350 and .06 with tau .5. Games are in the order of their periods. Writes the rating of each agent.
/// `limit`: whether no deviation may exceed a newcomer's.
///
/// # Safety
/// `period`, `first`, `second` and `result` have `games` values, `ratings` has `agents`; agents are numbers below `agents`.
#[no_mangle]
pub unsafe extern "C" fn glicko2_periods(
    games: usize,
    period: *const i64,
    first: *const i64,
    second: *const i64,
    result: *const f64,
    agents: usize,
    tolerance: f64,
    limit: bool,
    ratings: *mut f64,
) {
    let (period, first) = (from_raw_parts(period, games), from_raw_parts(first, games));
    let (second, result) = (from_raw_parts(second, games), from_raw_parts(result, games));
    let config = Glicko2Config { tau: 0.5, convergence_tolerance: tolerance };
    let newcomer = Glicko2Rating { rating: 1500.0, deviation: 350.0, volatility: 0.06 };
    let mut own = vec![newcomer; agents];
    let mut results: Vec<Vec<(Glicko2Rating, Outcomes)>> = vec![Vec::new(); agents];
    let mut game = 0;
    while game < games {
        let now = period[game];
        results.iter_mut().for_each(Vec::clear);
        while game < games && period[game] == now {
            let (a, b, won) = (first[game] as usize, second[game] as usize, outcome(result[game]));
            results[a].push((own[b], won));
            results[b].push((own[a], reversed(won)));
            game += 1;
        }
        for (rating, games_of) in own.iter_mut().zip(&results) {
            let after = glicko2_rating_period(rating, games_of, &config);
            *rating = if limit && !games_of.is_empty() { limited(rating, after, newcomer.deviation) } else { after };
        }
    }
    for (to, from) in from_raw_parts_mut(ratings, agents).iter_mut().zip(&own) {
        *to = from.rating;
    }
}
